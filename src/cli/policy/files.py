"""The files that the policy commands read."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caps.cli.exits import ExitCode, fail
from caps.cli.input_files import read_input
from caps.protocol.environment import Variable

if TYPE_CHECKING:
    from caps.security.audit import AuditRecord
    from caps.security.policies.load import LoadedPolicy


def loaded_policy(file: str | None) -> LoadedPolicy:
    """The policy FILE, or the one that CAPS_POLICY_PATH names; there must be one."""
    from caps.security.policies.load import load_policy

    if file is None and not Variable.POLICY_PATH.read():
        fail(f"name a policy file, or set {Variable.POLICY_PATH.key}", ExitCode.BAD_USAGE)
    return load_policy(file)


def loaded_policies(files: Sequence[str]) -> list[LoadedPolicy]:
    """The policies FILE..., of which each must allow, or the one of CAPS_POLICY_PATH."""
    return [loaded_policy(file) for file in files] or [loaded_policy(None)]


def load_policies(paths: Sequence[str]) -> list[LoadedPolicy]:
    """The same for a command that runs without a policy, too: then it is the empty one."""
    from caps.security.policies.load import load_policy

    return [load_policy(path) for path in paths] or [load_policy(None)]


def read_bytes(path: Path) -> bytes:
    """The file, up to one byte more than a policy may have: the parser refuses that many."""
    from caps.security.policies.load import MAX_POLICY_BYTES

    return read_input(path, MAX_POLICY_BYTES)


def written_policy(loaded: LoadedPolicy) -> dict[str, Any] | None:
    """The JSON that a policy was read from, so that places refer to the file.

    None if there is no file, or if it has changed since; places then refer to the policy with its
    rules sorted.
    """
    from caps.protocol.errors import PolicyInvalidError
    from caps.security.policies.load import policy_from_json

    path = Path(loaded.source)
    if not path.is_file():
        return None
    data = read_bytes(path)
    try:
        same = policy_from_json(data, source=loaded.source).sha256 == loaded.policy.sha256
    except PolicyInvalidError:
        return None
    written: dict[str, Any] = json.loads(data)
    return written if same else None


def records_of(log: Path, execution_id: str | None = None) -> Iterator[AuditRecord]:
    """The records of a log. Ends the command if there are none: the directory may be wrong."""
    from caps.security.audit import read_records

    records = read_records(log, execution_id=execution_id)
    first = next(records, None)
    if first is None:
        of = f" of execution `{execution_id}`" if execution_id else ""
        fail(f"`{log}` holds no audit records{of}", ExitCode.BAD_USAGE)
    return itertools.chain([first], records)
