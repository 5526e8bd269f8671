"""(8) Making a proof (`proof.py`) from a log, in two streaming passes over it.

The first pass finds the requested records, the second carries the chain from the first of them to
the next signed checkpoint. The proof is verified before it is returned. Reads only: records after
the last checkpoint get no proof here, since only the writer signs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from caps.protocol.errors import AuditError, ConfigurationError
from caps.security.audit.files.key_files import SIGNING_PUB
from caps.security.audit.files.reader import Line, log_lines, record_of
from caps.security.audit.model.chain import Flaw, Link, check_link
from caps.security.audit.signing.checkpoint import Checkpoint, load_public_keys, read_checkpoints
from caps.security.audit.verify.proof import (
    MAX_PROOF_BYTES,
    Proof,
    ProofStatus,
    ProofStep,
    Subject,
    verify_proof,
)
from caps.security.audit.verify.verify import checked_checkpoints
from caps.security.policies.names import quoted

_HASH_DIGITS: Final = 64
_MAX_NUMBER_DIGITS: Final = 16


@dataclass(frozen=True, slots=True)
class _Found:
    subject: Subject
    first: int
    last: int


def prove(directory: Path, name: str, *, whole: bool = False) -> bytes:
    """Return a proof of the execution whose id starts with `name`, or of the record `name`.

    A record is named by its number or its hash. With `whole` the records in between are shown, too.
    Raises `ConfigurationError` if nothing or more than one thing has this name, `AuditError` if the
    log cannot be read, is not sound there, or is not signed that far yet.
    """
    try:
        found = _find(directory, name)
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


def _find(directory: Path, name: str) -> _Found:
    if name.isascii() and name.isdigit() and len(name) <= _MAX_NUMBER_DIGITS:
        return _find_record(directory, name, int(name))
    if len(name) == _HASH_DIGITS:
        return _find_record(directory, name, None)
    spans: dict[str, _Found] = {}
    for line in log_lines(directory):
        record = record_of(line)
        execution_id = getattr(record.event, "execution_id", None)
        if not name or execution_id is None or not execution_id.startswith(name):
            continue
        first = spans[execution_id].first if execution_id in spans else record.seq
        spans[execution_id] = _Found(Subject(execution_id=execution_id), first, record.seq)
        if len(spans) > 1 and name not in spans:
            raise ConfigurationError(f"{quoted(name)} is the start of several executions")
    if name in spans:
        return spans[name]
    if not spans:
        raise ConfigurationError(f"the log has no execution {quoted(name)}")
    return next(iter(spans.values()))


def _find_record(directory: Path, name: str, number: int | None) -> _Found:
    for line in log_lines(directory):
        record = record_of(line)
        if record.seq == number or (number is None and record.hash == name):
            return _Found(Subject(seq=record.seq), record.seq, record.seq)
    raise ConfigurationError(f"the log has no record {quoted(name)}")


def _covering(directory: Path, seq: int) -> Checkpoint:
    """Return the first checkpoint at or after record `seq`."""
    checked = checked_checkpoints(read_checkpoints(directory), directory)
    sound = [item for item in checked if isinstance(item, Checkpoint) and item.seq >= seq]
    if not sound:
        raise AuditError(
            f"record {seq} is not signed yet: the log signs its end when it is closed, "
            "and after every `checkpoint_every` records"
        )
    return min(sound, key=lambda item: item.seq)


def _steps(
    directory: Path, found: _Found, until: int, *, whole: bool
) -> tuple[str, list[ProofStep]]:
    prev = ""
    steps: list[ProofStep] = []
    hidden: list[str] = []
    for line, link in _links(directory, found.first, until):
        prev = prev or link.prev
        record = msgspec.json.decode(line.data, type=dict)
        # Version 1 has no digest that could represent a record, so it can only be shown.
        if whole or link.body is None or found.subject.covers(record):
            if hidden:
                steps.append(ProofStep(digests=hidden))
                hidden = []
            steps.append(ProofStep(record=record))
        else:
            hidden.append(link.body)
    if hidden:
        steps.append(ProofStep(digests=hidden))
    return prev, steps


def _links(directory: Path, first: int, until: int) -> Iterator[tuple[Line, Link]]:
    for line in log_lines(directory):
        link = check_link(line.data)
        if isinstance(link, Flaw):
            raise AuditError(f"{line.place} {link.message}; verify the log")
        if first <= link.seq <= until:
            yield line, link
        if link.seq >= until:
            return
