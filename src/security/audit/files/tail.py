"""(8) The first and last records of log files: which log it is, where to continue. Reads only."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec

from caps.protocol.errors import AuditError
from caps.security.audit.files.reader import (
    open_segment,
    read_lines,
    segment_name,
    segment_number,
    segment_paths,
)
from caps.security.audit.model.chain import Flaw, Head, Link, check_link, decode
from caps.security.audit.model.records import (
    MAX_LINE_BYTES,
    AuditRecord,
    LogOpened,
    SegmentClosed,
    SegmentOpened,
)

_FIRST_WINDOW: Final = 8 * 1024
# A sound last record and a torn one after it always fit into it.
_LAST_WINDOW: Final = 2 * (MAX_LINE_BYTES + 1)
_MENTION: Final = b'"signed_seq":'
_MENTION_WINDOW: Final = 64 * 1024
_CLOSING: Final = b'"kind":"segment_closed"'


class Tail(msgspec.Struct, frozen=True):
    """The last complete record of a file (or None), its end, and the torn bytes after it.

    `closed` says that this record is the last one that the file will ever have.
    """

    head: Head | None
    end: int
    torn: bytes
    closed: bool = False


def read_tail(fd: int, size: int, path: Path) -> Tail:
    """Read the tail of the first `size` bytes.

    Raises `OSError`, or `AuditError` if the last record is not sound.
    """
    window = _FIRST_WINDOW
    while True:
        start = max(0, size - window)
        data = os.pread(fd, size - start, start)
        last = data.rfind(b"\n")
        before = data.rfind(b"\n", 0, max(last, 0))
        if last >= 0 and (before >= 0 or start == 0):
            line = data[before + 1 : last]
            head = _sound_head(line, path)
            return Tail(head, start + last + 1, data[last + 1 :], _closes(line))
        if start == 0:
            return Tail(None, 0, data)
        if window >= _LAST_WINDOW:
            raise AuditError(f"audit log `{path}` does not end in a record; verify it")
        window = min(window * 8, _LAST_WINDOW)


def _sound_head(line: bytes, path: Path) -> Head:
    link = check_link(line)
    if isinstance(link, Flaw):
        raise AuditError(f"the last record of `{path}` {link.message}; verify it")
    return link.head


def _closes(line: bytes) -> bool:
    # A shown argument may contain these bytes too, so they are only a fast first check.
    return _CLOSING in line and isinstance(decode(line).event, SegmentClosed)


def first_record(path: Path) -> AuditRecord | None:
    """Return the first record of a segment, or None if it has no complete line.

    Raises `OSError`, or `AuditError` if it is not a record.
    """
    with open_segment(path) as file:
        for line in read_lines(file, segment=path.name):
            return None if line.torn else decode(line.data)
    return None


def newest_mention(directory: Path) -> int | None:
    """Return the signed record that the newest file mentions last, as far as is quickly found.

    Only the last bytes of that file and its first record are read. Raises `OSError` or
    `AuditError`.
    """
    path = directory / segment_name(newest_segment(directory))
    record = first_record(path) if path.exists() else None
    if record is None:
        return None
    with open_segment(path) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _MENTION_WINDOW))
        lines = file.read().split(b"\n")[:-1]
    for line in reversed(lines):
        # A shown argument may contain these bytes too, so they are only a fast first check.
        link = check_link(line) if _MENTION in line else None
        if isinstance(link, Link) and link.signed_seq is not None:
            return link.signed_seq
    return getattr(record.event, "signed_seq", None)


def log_id(directory: Path) -> str:
    """Return the random id that a log got with its first record; every later file repeats it.

    Raises `OSError`, or `AuditError` if no file has it.
    """
    for path in reversed(segment_paths(directory)):
        record = first_record(path)
        match record.event if record else None:
            case SegmentOpened(log=name) | LogOpened(writer=name):
                return name
            case _:
                continue
    raise AuditError(f"audit log `{directory}` has no record of its opening")


def first_timestamp(path: Path) -> float | None:
    """Return the time of the first record of a segment, in seconds of the wall clock."""
    record = first_record(path)
    return None if record is None else datetime.fromisoformat(record.ts).timestamp()


def newest_segment(directory: Path) -> int:
    """Return the number of the file to continue; 1 for a new log.

    A successor that a crash left without a record does not count: the previous file leads to it.
    Raises `OSError`, or `AuditError` if the file that was written last is gone.
    """
    paths = segment_paths(directory)
    if not paths:
        return 1
    newest = paths[-1]
    if newest.suffix == ".gz":
        # Only a file that has a successor is ever compressed.
        raise AuditError(f"the file after `{newest}` is gone; verify the log")
    number = segment_number(newest) or 1
    empty = first_record(newest) is None
    before = directory / segment_name(number - 1)
    return number - 1 if empty and number > 1 and before.is_file() else number
