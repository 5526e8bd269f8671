"""(8) What a sink missed, read from the file log: by number, from the file that has it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from caps.protocol.errors import AuditError
from caps.security.audit.signing.checkpoint import CHECKPOINTS
from caps.security.audit.files.reader import open_segment, read_lines, segment_paths
from caps.security.audit.files.regular_files import read_regular
from caps.security.audit.sinks.interface import Delivery
from caps.security.audit.files.tail import first_record

_DIGITS: Final = 20


class _Numbered(msgspec.Struct):
    seq: int


_number = msgspec.json.Decoder(_Numbered).decode


class History:
    """The file log as a sink's source."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def records(self, first: int, last: int) -> Iterator[Delivery]:
        """Records `first` to `last`, which must be committed. Raises `OSError` or `AuditError`."""
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

    def checkpoints(self, first: int, last: int) -> list[Delivery]:
        """The checkpoints of the records `first` to `last`."""
        path = self._directory / CHECKPOINTS
        content = read_regular(path) if path.exists() else b""
        lines = content[: content.rfind(b"\n") + 1].splitlines()
        found = [Delivery(_number(line).seq, line, checkpoint=True) for line in lines]
        return [item for item in found if first <= item.seq <= last]

    def _paths_from(self, first: int) -> list[Path]:
        """The files from the one that has record `first`."""
        paths = segment_paths(self._directory)
        for index in range(len(paths) - 1, 0, -1):
            record = first_record(paths[index])
            if record is not None and record.seq <= first:
                return paths[index:]
        return paths


class CursorFile:
    """How far a sink got that cannot say so itself; at worst it gets some records twice."""

    def __init__(self, directory: Path, sink: str) -> None:
        digest = hashlib.sha256(sink.encode()).hexdigest()[:16]
        self._path = directory / f"sink-{digest}.cursor"
        self._fd = -1

    def read(self) -> int | None:
        """None if the sink has never been used. Raises `OSError`."""
        try:
            text = self._path.read_text("ascii").strip()
        except (FileNotFoundError, UnicodeDecodeError):
            return None
        return int(text) if text.isascii() and text.isdigit() else None

    def write(self, seq: int) -> None:
        """One write of fixed length, so that it is never half there. Raises `OSError`."""
        if self._fd < 0:
            flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            self._fd = os.open(self._path, flags, 0o600)
        os.pwrite(self._fd, f"{seq:0{_DIGITS}d}\n".encode(), 0)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
