"""(8) A page of a log: records from a place on, with a bound on how much of the log is read.

A place is a file and an offset in it, so the next page begins where this one ended, however long
the log is. A page may have few records, or none, and still not be the last one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from caps.protocol.errors import AuditError, ConfigurationError
from caps.security.audit.files.reader import (
    SegmentFile,
    open_segment,
    read_lines,
    record_of,
    segment_number,
    segment_paths,
)
from caps.security.audit.model.records import AuditRecord

MAX_SCANNED: Final = 20_000
MAX_SCANNED_BYTES: Final = 32 * 1024 * 1024


class Place(msgspec.Struct, frozen=True, order=True):
    """The number of a file of the log, and where in it a line begins."""

    segment: int = 0
    offset: int = 0


class AuditPage(msgspec.Struct, frozen=True):
    """Records, oldest first, and where the next page begins; None at the end of the log."""

    records: tuple[AuditRecord, ...]
    next: Place | None


def read_page(
    directory: Path, matches: Callable[[AuditRecord], bool], *, after: Place, limit: int
) -> AuditPage:
    """At most `limit` records that match, from a place on.

    Raises AuditError if the log cannot be read, ConfigurationError if the place is not in it.
    """
    found: list[AuditRecord] = []
    scanned = size = 0
    try:
        for record, length, end in _records(directory, after):
            scanned, size = scanned + 1, size + length
            if matches(record):
                found.append(record)
            if len(found) == limit or scanned == MAX_SCANNED or size >= MAX_SCANNED_BYTES:
                return AuditPage(tuple(found), end)
    except OSError as error:
        raise AuditError(f"cannot read audit log `{directory}`: {error.strerror}") from error
    return AuditPage(tuple(found), None)


def _records(directory: Path, after: Place) -> Iterator[tuple[AuditRecord, int, Place]]:
    """Each record from the place on, its length, and where the line after it begins."""
    for path in segment_paths(directory):
        number = segment_number(path)
        assert number is not None
        if number < after.segment:
            continue
        offset = after.offset if number == after.segment else 0
        with open_segment(path) as file:
            _go_to(file, offset)
            for line in read_lines(file, segment=path.name):
                if line.torn:
                    break
                offset += len(line.data) + 1
                yield record_of(line), len(line.data), Place(number, offset)


def _go_to(file: SegmentFile, offset: int) -> None:
    if offset == 0:
        return
    file.seek(offset - 1)
    if file.read(1) != b"\n":
        raise ConfigurationError("the place is not in the log")
