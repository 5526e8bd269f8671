"""(8) Making a proof (`proof.py`) from a log: two passes over it, neither of which holds it.

The first finds the records that are asked for, the second carries the chain from the first of them
to the next signed checkpoint. What is made is verified before it is handed out. Reads only: a log
whose end is not signed yet gets no proof here, since signing is the writer's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from caps.protocol.errors import AuditError, ConfigurationError
from caps.security.audit.model.chain import Flaw, Link, inspect
from caps.security.audit.signing.checkpoint import CHECKPOINTS, Checkpoint, load_public_keys
from caps.security.audit.files.key_files import SIGNING_PUB
from caps.security.audit.verify.proof import (
    MAX_PROOF_BYTES,
    Proof,
    ProofStatus,
    Step,
    Subject,
    verify_proof,
)
from caps.security.audit.files.reader import Line, log_lines, record_of
from caps.security.audit.files.regular_files import read_regular
from caps.security.audit.verify.verify import checked_checkpoints
from caps.security.policies.names import quoted

_HASH_DIGITS: Final = 64
_LONGEST_NUMBER: Final = 16


@dataclass(frozen=True, slots=True)
class _Found:
    subject: Subject
    first: int
    last: int


def prove(directory: Path, wanted: str, *, whole: bool = False) -> bytes:
    """A proof of the execution whose id starts with `wanted`, or of the record that it names.

    A record is named by its number or its hash. With `whole` the records between are shown, too.
    Raises `ConfigurationError` when there is no such thing or there are several, `AuditError` when
    the log cannot be read, is not sound there, or is not signed that far yet.
    """
    try:
        found = _find(directory, wanted)
        checkpoint = _covering(directory, found.last)
        prev, steps = _steps(directory, found, checkpoint.seq, whole=whole)
    except OSError as error:
        raise AuditError(f"cannot read audit log `{directory}`: {error.strerror}") from error
    proof = Proof(
        format="caps.audit.proof",
        version=1,
        subject=found.subject,
        first_seq=found.first,
        prev=prev,
        steps=steps,
        checkpoint=checkpoint,
    )
    data = msgspec.json.encode(proof, order="sorted") + b"\n"
    if len(data) > MAX_PROOF_BYTES:
        raise AuditError(f"the proof of {found.subject} would be over {MAX_PROOF_BYTES} bytes")
    report = verify_proof(data, load_public_keys(directory / SIGNING_PUB))
    if report.status is not ProofStatus.PROVEN:
        raise AuditError(f"no proof can be made: {report.message}; verify the log")
    return data


def _find(directory: Path, wanted: str) -> _Found:
    if wanted.isascii() and wanted.isdigit() and len(wanted) <= _LONGEST_NUMBER:
        return _find_record(directory, wanted, int(wanted))
    if len(wanted) == _HASH_DIGITS:
        return _find_record(directory, wanted, None)
    spans: dict[str, _Found] = {}
    for line in log_lines(directory):
        record = record_of(line)
        execution_id = getattr(record.event, "execution_id", None)
        if not wanted or execution_id is None or not execution_id.startswith(wanted):
            continue
        first = spans[execution_id].first if execution_id in spans else record.seq
        spans[execution_id] = _Found(Subject(execution_id=execution_id), first, record.seq)
        if len(spans) > 1 and wanted not in spans:
            raise ConfigurationError(f"{quoted(wanted)} is the start of several executions")
    if wanted in spans:
        return spans[wanted]
    if not spans:
        raise ConfigurationError(f"the log has no execution {quoted(wanted)}")
    return next(iter(spans.values()))


def _find_record(directory: Path, wanted: str, number: int | None) -> _Found:
    for line in log_lines(directory):
        record = record_of(line)
        if record.seq == number or (number is None and record.hash == wanted):
            return _Found(Subject(seq=record.seq), record.seq, record.seq)
    raise ConfigurationError(f"the log has no record {quoted(wanted)}")


def _covering(directory: Path, seq: int) -> Checkpoint:
    """The first checkpoint at or after record `seq`."""
    path = directory / CHECKPOINTS
    content = read_regular(path) if path.exists() else b""
    checked = checked_checkpoints(content, directory)
    sound = [item for item in checked if isinstance(item, Checkpoint) and item.seq >= seq]
    if not sound:
        raise AuditError(
            f"record {seq} is not signed yet: the log signs its end when it is closed, "
            "and every so many records"
        )
    return min(sound, key=lambda item: item.seq)


def _steps(directory: Path, found: _Found, until: int, *, whole: bool) -> tuple[str, list[Step]]:
    prev = ""
    steps: list[Step] = []
    hidden: list[str] = []
    for line, link in _links(directory, found.first, until):
        prev = prev or link.prev
        record = msgspec.json.decode(line.data, type=dict)
        # Version 1 has no digest that could stand for a record, so it can only be shown.
        if whole or link.body is None or found.subject.covers(record):
            if hidden:
                steps.append(Step(digests=hidden))
                hidden = []
            steps.append(Step(record=record))
        else:
            hidden.append(link.body)
    if hidden:
        steps.append(Step(digests=hidden))
    return prev, steps


def _links(directory: Path, first: int, until: int) -> Iterator[tuple[Line, Link]]:
    for line in log_lines(directory):
        link = inspect(line.data)
        if isinstance(link, Flaw):
            raise AuditError(f"{line.place} {link.message}; verify the log")
        if first <= link.seq <= until:
            yield line, link
        if link.seq >= until:
            return
