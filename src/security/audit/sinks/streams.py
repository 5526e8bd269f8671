"""(8) Sinks that are streams of lines: standard output, and a copy of the log in another directory.

The copy is a log itself: the same lines in one file, with checkpoints, so `caps audit verify` can
read it. Records that it already has are skipped, so several processes may feed it.
"""

from __future__ import annotations

import fcntl
import os
import select
import time
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Final

from caps.protocol.disk.key_file import read_or_create
from caps.protocol.disk.regular_files import (
    CREATE_FLAGS,
    read_regular,
    remove_hole,
    sync_directory,
    was_cut,
    write_at,
)
from caps.security.audit.files.key_files import SIGNING_PUB
from caps.security.audit.files.lock import LogLock
from caps.security.audit.files.reader import FIRST_SEGMENT
from caps.security.audit.files.tail import log_id, read_tail
from caps.security.audit.signing.checkpoint import append_lines, complete_lines, read_checkpoints
from caps.security.audit.sinks.interface import Delivery, SinkError

# What a pipe that is ready for writing takes without blocking the writer.
_CHUNK: Final = select.PIPE_BUF


class StdoutSink:
    """Writes each record as one line to standard output, as on disk."""

    keeps = False

    def __init__(self, deadline: float, fd: int = 1) -> None:
        self._deadline = deadline
        self._fd = fd

    def connect(self) -> int | None:
        os.fstat(self._fd)
        return None

    def deliver(self, items: Sequence[Delivery]) -> None:
        deadline = time.monotonic() + self._deadline
        data = memoryview(b"".join(item.line + b"\n" for item in items))
        poll = select.poll()
        poll.register(self._fd, select.POLLOUT)
        while data:
            left = deadline - time.monotonic()
            # A plain write to a pipe without a reader would block for ever.
            if left <= 0 or not poll.poll(left * 1000):
                raise SinkError("nobody reads standard output")
            data = data[os.write(self._fd, data[:_CHUNK]) :]

    def close(self) -> None:
        return


class FileSink:
    """A second log directory, with the same chain in one file."""

    keeps = True

    def __init__(self, directory: Path, source: Path, deadline: float) -> None:
        """`source` is the log that is copied."""
        self._directory = directory
        self._path = directory / FIRST_SEGMENT
        self._source = source
        self._lock = LogLock(deadline, directory)
        self._fd = -1

    def connect(self) -> int | None:
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self._directory.samefile(self._source):
            raise SinkError("it is the log itself; name another directory")
        self._fd = os.open(self._path, CREATE_FLAGS, 0o600)
        sync_directory(self._directory)
        self._lock.take(self._fd, self._path, wait=True)
        try:
            if (has := self._tail()[0]) and log_id(self._directory) != log_id(self._source):
                raise SinkError("it holds another log; name another directory")
        finally:
            fcntl.flock(self._fd, fcntl.LOCK_UN)
        own = read_regular(self._source / SIGNING_PUB)
        read_or_create(self._directory / SIGNING_PUB, lambda: own, mode=0o644)
        return has

    def deliver(self, items: Sequence[Delivery]) -> None:
        self._lock.take(self._fd, self._path, wait=True)
        try:
            if not os.path.samestat(os.fstat(self._fd), self._path.stat()):
                raise SinkError("its file was replaced")
            for are_checkpoints, group in groupby(items, lambda item: item.checkpoint):
                if are_checkpoints:
                    self._add_checkpoints(group)
                else:
                    self._add_records(group)
        finally:
            fcntl.flock(self._fd, fcntl.LOCK_UN)

    def close(self) -> None:
        self._lock.close()
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _tail(self) -> tuple[int, int]:
        tail = read_tail(self._fd, os.fstat(self._fd).st_size, self._path)
        return (0 if tail.head is None else tail.head.seq), tail.end

    def _append(self, data: bytes, end: int) -> None:
        try:
            last = write_at(self._fd, data, end)
            os.ftruncate(self._fd, last)
            os.fdatasync(self._fd)
        except OSError:
            os.ftruncate(self._fd, end)
            raise
        if was_cut(self._fd, end, last):
            remove_hole(self._fd, end)
            raise SinkError("its file was cut while it was written")

    def _add_records(self, items: Iterable[Delivery]) -> None:
        has, end = self._tail()
        new = [item for item in items if item.seq > has]
        if new:
            _refuse_gap(has, new)
            self._append(b"".join(item.line + b"\n" for item in new), end)

    def _add_checkpoints(self, items: Iterable[Delivery]) -> None:
        known = set(complete_lines(read_checkpoints(self._directory)).split(b"\n"))
        new = [item.line + b"\n" for item in items if item.line not in known]
        if new:
            append_lines(self._directory, b"".join(new))


def _refuse_gap(has: int, new: Sequence[Delivery]) -> None:
    """A chain with a gap is not a log; after this error the feed sends what is missing first."""
    for expected, item in enumerate(new, has + 1):
        if item.seq != expected:
            raise SinkError(f"record {expected} is missing before record {item.seq}")
