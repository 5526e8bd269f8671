"""(8) Reading a log: its files, their lines as they are on disk, and records from the lines.

A log is `audit-000001.jsonl`, `audit-000002.jsonl` and so on; a file that is no longer written may
be compressed (`.jsonl.gz`). All reading streams: one line is in memory at a time, never a file.

Reading tolerates one thing only, a last line without its newline: a writer is writing it, or
crashed while writing it. Whether the lines are those that were written is checked in `verify.py`.
"""

from __future__ import annotations

import gzip
import os
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import BinaryIO, Final

import msgspec

from caps.protocol.disk.regular_files import open_regular
from caps.protocol.errors import AuditError
from caps.security.audit.model.chain import decode
from caps.security.audit.model.records import MAX_LINE_BYTES, AuditRecord

FIRST_SEGMENT: Final = "audit-000001.jsonl"
_PREFIX: Final = "audit-"
_PLAIN: Final = ".jsonl"
_COMPRESSED: Final = ".jsonl.gz"

SegmentFile = BinaryIO | gzip.GzipFile


class Line(msgspec.Struct, frozen=True):
    """One line without its newline; `torn` says that the newline is missing."""

    number: int
    data: bytes
    torn: bool
    segment: str = ""

    @property
    def place(self) -> str:
        """The place of the line, for messages."""
        return f"`{self.segment}` line {self.number}" if self.segment else f"line {self.number}"


def segment_name(number: int) -> str:
    """Return the name of a segment that is not compressed."""
    return f"{_PREFIX}{number:06d}{_PLAIN}"


def segment_number(path: PurePath) -> int | None:
    """Return the number of a segment in its log, or None if the file is not a segment."""
    name = path.name.removesuffix(_COMPRESSED).removesuffix(_PLAIN)
    digits = name.removeprefix(_PREFIX)
    if not (digits.isascii() and digits.isdigit()) or not 6 <= len(digits) <= 12:
        return None
    number = int(digits)
    plain = segment_name(number)
    return number if path.name in (plain, f"{plain}.gz") else None


def compressed_path(path: Path) -> Path:
    """Return the path of a segment once it is compressed."""
    return path.with_name(f"{path.name}.gz")


def segment_paths(directory: Path) -> list[Path]:
    """Return the files of the log, oldest first. Raises `OSError`."""
    while (found := _list_segments(directory)) is None:
        continue
    return [found[number] for number in sorted(found)]


def _list_segments(directory: Path) -> dict[int, Path] | None:
    """By number; None if a listed file is gone: the listing may lack its compressed form."""
    found: dict[int, Path] = {}
    for path in directory.iterdir():
        number = segment_number(path)
        if number is None:
            continue
        # Regular files only: a pipe of that name would make a reader wait for ever.
        if not path.is_file():
            if not os.path.lexists(path):
                return None
            continue
        # While a segment is being compressed there are two files; the plain one is complete.
        if number not in found or path.suffix != ".gz":
            found[number] = path
    return found


def open_segment(path: Path) -> SegmentFile:
    """Open a segment for reading, also if it was compressed meanwhile. Raises `OSError`."""
    if path.suffix == ".gz":
        return gzip.open(path, "rb")
    try:
        return open_regular(path)
    except FileNotFoundError:
        packed = compressed_path(path)
        if not packed.is_file():
            raise
        return gzip.open(packed, "rb")


def read_lines(
    file: SegmentFile, *, end: int = sys.maxsize, segment: str = "", first: int = 1
) -> Iterator[Line]:
    """Stream the lines within the next `end` bytes of `file`; their numbers start at `first`.

    Raises `OSError`, or `AuditError` for a line that is longer than any record.
    """
    number = first - 1
    while data := _read_line(file, min(MAX_LINE_BYTES + 1, end)):
        number += 1
        end -= len(data)
        whole = data.endswith(b"\n")
        if not whole and len(data) > MAX_LINE_BYTES:
            raise AuditError(f"line {number} is longer than {MAX_LINE_BYTES} bytes")
        yield Line(number, data[:-1] if whole else data, torn=not whole, segment=segment)


def _read_line(file: SegmentFile, limit: int) -> bytes:
    try:
        return file.readline(limit)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise AuditError(f"a compressed segment is damaged: {error}") from error


def log_lines(directory: Path) -> Iterator[Line]:
    """Stream all complete lines of a log. Raises `OSError` or `AuditError`."""
    for path in segment_paths(directory):
        with open_segment(path) as file:
            for line in read_lines(file, segment=path.name):
                if line.torn:
                    break
                yield line


def record_of(line: Line) -> AuditRecord:
    """Return the record in a line. Raises `AuditError`, which names the line."""
    try:
        return decode(line.data)
    except AuditError as error:
        raise AuditError(f"{line.place}: {error.message}") from error


def read_records(directory: Path, *, execution_id: str | None = None) -> Iterator[AuditRecord]:
    """Stream the records of a log, or those of one execution, oldest first.

    Raises `AuditError` when the directory cannot be read or a line is not a record.
    """
    try:
        for line in log_lines(directory):
            record = record_of(line)
            if execution_id in (None, getattr(record.event, "execution_id", None)):
                yield record
    except OSError as error:
        raise AuditError(f"cannot read audit log `{directory}`: {error.strerror}") from error
