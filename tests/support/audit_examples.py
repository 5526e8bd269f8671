"""Audit events that the tests of the audit log share."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import anyio
import msgspec

from caps.security.audit import AuditLog, DecisionMade, Redactor, read_records
from caps.security.audit.files.reader import FIRST_SEGMENT, segment_name
from caps.security.audit.model.chain import EncodedRecord, Head, seal_all
from caps.security.audit.signing.checkpoint import CHECKPOINTS, Signer, append_checkpoint

REDACTOR = Redactor(b"k" * 32)


def decision(request_id: str = "r1", **changes: object) -> DecisionMade:
    """An allowed `files.read`, with `changes` to its fields."""
    redacted = REDACTOR.split({"path": "./sandbox/a.txt", "content": "secret"}, ("path",))
    fields: dict[str, object] = {
        "execution_id": "exec-0001",
        "principal": "local",
        "request_id": request_id,
        "capability": "files.read",
        "decision": "allow",
        "reason": "allowed",
        "rule": "files.read",
        "message": "allowed by `files.read`",
        "policy_id": "reader",
        "policy_sha256": "ab" * 32,
        "args_hmac": redacted.args_hmac,
        "shown": redacted.shown,
        "hidden": redacted.hidden,
    }
    return DecisionMade(**{**fields, **changes})  # type: ignore[arg-type]


def seal(record: EncodedRecord, ts: str, after: Head) -> tuple[bytes, Head]:
    """The line of the record that follows `after`, and the head that it makes."""
    lines, head = seal_all([(record, ts)], after)
    return lines[0], head


def request_ids(directory: Path) -> list[str]:
    """The request ids of the decisions in a log, in its order."""
    events = (record.event for record in read_records(directory))
    return [event.request_id for event in events if isinstance(event, DecisionMade)]


def kinds(directory: Path) -> list[str]:
    """The class names of the events in a log, in its order."""
    return [type(record.event).__name__ for record in read_records(directory)]


def segment_of(directory: Path) -> Path:
    return directory / FIRST_SEGMENT


def mode_of(path: Path) -> int:
    """The permission bits of a file."""
    return path.stat().st_mode & 0o777


def open_beneath(directory: Path) -> list[Path]:
    """The paths at or below a directory that this process has open."""
    found = []
    for link in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # the one that lists them
            found.append(link.readlink())
    return [path for path in found if path.is_relative_to(directory)]


def segmented_log(directory: Path, *sizes: int) -> None:
    """A log from the real writer, in files of these many records, each with two checkpoints."""

    async def write() -> None:
        async with AuditLog.open(directory) as log:
            for number in range(sum(sizes) - 1):
                await log.append(decision(f"r{number}", execution_id=f"exec-{number % 3}"))

    anyio.run(write)
    lines = segment_of(directory).read_bytes().splitlines(keepends=True)
    (directory / CHECKPOINTS).unlink()
    signer, done = Signer.load(directory), 0
    for segment, size in enumerate(sizes, 1):
        (directory / segment_name(segment)).write_bytes(b"".join(lines[done : done + size]))
        for seq in (done + size // 2, done + size):
            head = Head(seq, msgspec.json.decode(lines[seq - 1])["hash"])
            append_checkpoint(directory, signer.sign(head, segment=segment))
        done += size
