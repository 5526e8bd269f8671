"""(8) Checks before a log is opened, and the records at the start of its files."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec

from caps.protocol.errors import AuditError
from caps.protocol.version import package_version
from caps.security.audit.files.reader import (
    FIRST_SEGMENT,
    compressed_path,
    segment_name,
    segment_number,
    segment_paths,
)
from caps.security.audit.files.tail import log_id, newest_mention
from caps.security.audit.model.chain import ORIGIN, Head
from caps.security.audit.model.records import AuditEvent, LogRecovered, SegmentOpened
from caps.security.audit.signing.checkpoint import (
    CHECKPOINTS,
    Checkpoint,
    complete_lines,
    last_checkpoint_line,
    read_checkpoints,
)


def segment_preamble(
    directory: Path, number: int, head: Head, *, at_start: bool, torn: bytes
) -> list[AuditEvent]:
    """Return the events before the first batch of a file, or before one after a torn line."""
    events: list[AuditEvent] = []
    if at_start and head is not ORIGIN:
        opened = SegmentOpened(
            log=log_id(directory),
            segment=number,
            previous=segment_name(number - 1),
            previous_seq=head.seq,
            previous_hash=head.hash,
        )
        events.append(opened)
    if torn:
        digest = hashlib.sha256(torn).hexdigest()
        events.append(LogRecovered(dropped_bytes=len(torn), dropped_sha256=digest))
    return events


def check_segments_present(directory: Path) -> None:
    """Refuse to open a log whose signed segments are missing: a new chain would hide the loss."""
    line = last_checkpoint_line(directory)
    if not line:
        return
    try:
        signed = msgspec.json.decode(line, type=Checkpoint).segment or 1
    except msgspec.DecodeError:
        signed = 1
    present = {segment_number(path) for path in segment_paths(directory) if _is_filled(path)}
    if signed not in present:
        missing = directory / (segment_name(signed) if present else FIRST_SEGMENT)
        what = "empty" if missing.exists() else "gone"
        raise AuditError(f"`{missing}` is {what} but `{CHECKPOINTS}` is not; verify the log")


def check_checkpoints_present(directory: Path) -> None:
    """Refuse to open a log that has lost checkpoints: new ones would hide the loss.

    The log is read before the checkpoints, since other processes may write both meanwhile.
    """
    mentioned = newest_mention(directory)
    if mentioned is None:
        return
    for line in reversed(complete_lines(read_checkpoints(directory)).split(b"\n")):
        try:
            if msgspec.json.decode(line, type=Checkpoint).seq >= mentioned:
                return
        except msgspec.DecodeError:
            continue
        break
    raise AuditError(
        f"`{directory / CHECKPOINTS}` has lost the checkpoint of record {mentioned}, which the log "
        "mentions; verify the log, and restore the file from a copy"
    )


def _is_filled(path: Path) -> bool:
    try:
        return path.stat().st_size > 0
    except FileNotFoundError:
        # It may have been compressed since it was listed; empty files are never compressed.
        return compressed_path(path).is_file()


def host_software() -> str:
    """Return the name and version of the writer: this package and its Python."""
    import platform

    return f"caps-runtime/{package_version()} python/{platform.python_version()}"
