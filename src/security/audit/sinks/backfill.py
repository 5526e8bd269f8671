"""(8) Records that a sink missed, read from the file log by their numbers."""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from caps.protocol.errors import AuditError
from caps.security.audit.files.reader import open_segment, read_lines, segment_paths
from caps.security.audit.files.tail import first_record
from caps.security.audit.signing.checkpoint import (
    CHECKPOINTS,
    Checkpoint,
    complete_lines,
    read_checkpoints,
)
from caps.security.audit.sinks.interface import Delivery

_DIGITS: Final = 20

logger = logging.getLogger(__name__)


class _Numbered(msgspec.Struct):
    seq: int


_number = msgspec.json.Decoder(_Numbered).decode


class SegmentBackfill:
    """The file log as the source of missed records."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def records(self, first: int, last: int) -> Iterator[Delivery]:
        """Yield records `first` to `last`, which must be committed.

        Raises `OSError` or `AuditError`.
        """
        expected = first
        for path in self._paths_from(first):
            with open_segment(path) as file:
                for line in read_lines(file, segment=path.name):
                    seq = 0 if line.torn else _number(line.data).seq
                    if seq < expected:
                        continue
                    if seq > expected:
                        raise AuditError(f"{line.place} has record {seq}, not {expected}")
                    yield Delivery(seq, line.data)
                    expected += 1
                    if seq == last:
                        return
        if expected <= last:
            raise AuditError(f"record {expected} is not in the file log; verify it")

    def checkpoints(self, first: int, last: int, offset: int = 0) -> tuple[list[Delivery], int]:
        """Return the checkpoints of the records `first` to `last` from byte `offset` on.

        Also return the offset at which to continue: that of the first later checkpoint.
        """
        found: list[Delivery] = []
        lines = complete_lines(read_checkpoints(self._directory, offset)).splitlines(keepends=True)
        at = end = offset
        is_later = False
        for line in lines:
            at += len(line)
            try:
                seq = msgspec.json.decode(line, type=Checkpoint).seq
            except (msgspec.DecodeError, ValueError):
                # One bad line must not stop the copy; whoever verifies the log is told of it.
                logger.warning("`%s` has a bad line before byte %d; verify", CHECKPOINTS, at)
                seq = 0
            if first <= seq <= last and seq > 0:
                found.append(Delivery(seq, line[:-1], checkpoint=True))
            is_later = is_later or seq > last
            end = end if is_later else at
        return found, end

    def _paths_from(self, first: int) -> list[Path]:
        """Return the files from the one that has record `first`."""
        paths = segment_paths(self._directory)
        for index in range(len(paths) - 1, 0, -1):
            record = first_record(paths[index])
            if record is not None and record.seq <= first:
                return paths[index:]
        return paths


class CursorFile:
    """The last record of a sink that cannot report it itself; at worst some are sent twice."""

    def __init__(self, directory: Path, sink: str) -> None:
        digest = hashlib.sha256(sink.encode()).hexdigest()[:16]
        self._path = directory / f"sink-{digest}.cursor"
        self._fd = -1

    def read(self) -> int | None:
        """Return None if the sink has never been used. Raises `OSError`."""
        try:
            text = self._path.read_text("ascii").strip()
        except (FileNotFoundError, UnicodeDecodeError):
            return None
        return int(text) if text.isascii() and text.isdigit() else None

    def write(self, seq: int) -> None:
        """One write of fixed length, so that it is never partial. Raises `OSError`."""
        if self._fd < 0:
            flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            self._fd = os.open(self._path, flags, 0o600)
        os.pwrite(self._fd, f"{seq:0{_DIGITS}d}\n".encode(), 0)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
