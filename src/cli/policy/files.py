"""The files that the policy commands read."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caps.cli.exits import ExitCode, fail

if TYPE_CHECKING:
    from caps.security.audit import Record
    from caps.security.policies.load import LoadedPolicy


def loaded_policy(file: str | None) -> LoadedPolicy:
    """The policy FILE, or the one that CAPS_POLICY_PATH names; there must be one."""
    from caps.security.policies.load import POLICY_PATH_VARIABLE, load_policy

    if file is None and not os.environ.get(POLICY_PATH_VARIABLE):
        fail(f"name a policy file, or set {POLICY_PATH_VARIABLE}", ExitCode.BAD_USAGE)
    return load_policy(file)


def read_bytes(path: Path) -> bytes:
    """No more of a file than a policy may have, and one byte, which is refused."""
    from caps.security.policies.load import MAX_POLICY_BYTES

    try:
        with path.open("rb") as file:
            return file.read(MAX_POLICY_BYTES + 1)
    except OSError as error:
        fail(f"`{path}` cannot be read: {error.strerror}", ExitCode.BAD_USAGE)


def written_policy(loaded: LoadedPolicy) -> dict[str, Any] | None:
    """The JSON that a policy was read from, so that places are those in the file.

    None where there is no file, or it is no longer what was loaded; places are then those of the
    policy with its rules in order.
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


def records_of(log: Path, execution_id: str | None = None) -> Iterator[Record]:
    """The records of a log, of which there must be some: a wrong directory is no clean bill."""
    from caps.security.audit import read_records

    records = read_records(log, execution_id=execution_id)
    first = next(records, None)
    if first is None:
        of = f" of execution `{execution_id}`" if execution_id else ""
        fail(f"`{log}` holds no audit records{of}", ExitCode.BAD_USAGE)
    return itertools.chain([first], records)
