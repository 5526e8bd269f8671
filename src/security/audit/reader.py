"""(8) Reading a log back: lines as they lie on disk, and records from them.

Reading is tolerant of one thing only, a last line without its newline: a writer is at it, or died
at it. Whether the lines are the ones that were written is not asked here; `verify.py` asks it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from caps.protocol.errors import AuditError
from caps.security.audit.chain import decode
from caps.security.audit.records import MAX_LINE_BYTES, Record

FIRST_SEGMENT: Final = "audit-000001.jsonl"


@dataclass(frozen=True, slots=True)
class Line:
    """One line without its newline; `torn` is the last one if it lacks the newline."""

    number: int
    data: bytes
    torn: bool


def segment_paths(directory: Path) -> list[Path]:
    """The files of the log, oldest first. Raises `OSError`."""
    # Regular files only: a pipe of that name would keep a reader waiting for ever.
    return sorted(
        path for path in directory.iterdir() if path.match("audit-*.jsonl") and path.is_file()
    )


def read_lines(file: BinaryIO, *, end: int = sys.maxsize) -> Iterator[Line]:
    """Streams the lines within the first `end` bytes of `file`.

    Raises `OSError`, or `AuditError` for a line longer than any writer writes.
    """
    number = 0
    while data := file.readline(min(MAX_LINE_BYTES + 1, end)):
        number += 1
        end -= len(data)
        whole = data.endswith(b"\n")
        if not whole and len(data) > MAX_LINE_BYTES:
            raise AuditError(f"line {number} is longer than {MAX_LINE_BYTES} bytes")
        yield Line(number, data[:-1] if whole else data, torn=not whole)


def read_records(directory: Path, *, execution_id: str | None = None) -> Iterator[Record]:
    """Streams the records of a log, or those of one execution, oldest first.

    Raises `AuditError` when the directory cannot be read or a line is not a record.
    """
    try:
        paths = segment_paths(directory)
        for path in paths:
            with path.open("rb") as file:
                for record in _records(file, path):
                    if execution_id in (None, getattr(record.event, "execution_id", None)):
                        yield record
    except OSError as error:
        raise AuditError(f"cannot read audit log `{directory}`: {error.strerror}") from error


def _records(file: BinaryIO, path: Path) -> Iterator[Record]:
    for line in read_lines(file):
        if line.torn:
            return
        try:
            yield decode(line.data)
        except AuditError as error:
            raise AuditError(f"`{path}` line {line.number}: {error.message}") from error
