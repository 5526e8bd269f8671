"""(8) Following a log while several processes write it, across rotation.

It polls the disk (one `stat` and one listing per poll), since the standard library has no inotify
and a quarter of a second is fast enough for a person. The caller decides what to do between two
polls; `tail -f` sleeps. Only committed bytes are read: a batch that is written under the lock of
the log may still be undone.
"""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from caps.protocol.errors import AuditError
from caps.security.audit.files.reader import (
    SegmentFile,
    compressed_path,
    open_segment,
    read_lines,
    record_of,
    segment_number,
    segment_paths,
)
from caps.security.audit.model.records import AuditRecord


def follow(
    directory: Path, wait: Callable[[], object], caught_up: Callable[[], object] | None = None
) -> Iterator[AuditRecord]:
    """Yield all records of a log, and then new ones as they come; never ends by itself.

    `wait` is called when there is nothing new; `caught_up` once, after the existing records.
    Raises `AuditError` if a file was cut, replaced or removed, or a line is not a record.
    """
    follower = _Follower(directory)
    try:
        yield from follower.poll()
        if caught_up is not None:
            caught_up()
        while True:
            wait()
            yield from follower.poll()
    except OSError as error:
        raise AuditError(f"cannot read audit log `{directory}`: {error.strerror}") from error
    finally:
        follower.close()


class _Follower:
    """A position in the log: a file, and how much of it was read."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._path: Path | None = None
        self._file: SegmentFile | None = None
        self._offset = 0
        self._lines = 0

    def poll(self) -> Iterator[AuditRecord]:
        """Yield what was committed since the last poll."""
        while True:
            if self._file is not None:
                yield from self._new_records(self._committed())
            following = self._next_path()
            if following is None:
                return
            if self._file is not None:
                # A file that has a successor is not written any more: this is its end.
                yield from self._new_records(sys.maxsize)
            self._move_to(following)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _next_path(self) -> Path | None:
        here = 0 if self._path is None else segment_number(self._path) or 0
        for path in segment_paths(self._directory):
            if (segment_number(path) or 0) > here:
                return path
        return None

    def _move_to(self, path: Path) -> None:
        self.close()
        self._file = open_segment(path)
        self._path = path
        self._offset = self._lines = 0

    def _new_records(self, end: int) -> Iterator[AuditRecord]:
        assert self._file is not None
        assert self._path is not None
        if end <= self._offset:
            return
        self._file.seek(self._offset)
        lines = read_lines(
            self._file, end=end - self._offset, segment=self._path.name, first=self._lines + 1
        )
        for line in lines:
            if line.torn:
                return  # read again when it is complete
            self._offset += len(line.data) + 1
            self._lines += 1
            yield record_of(line)

    def _committed(self) -> int:
        """Return how many bytes are committed, so that no writer can still undo them."""
        assert self._file is not None
        assert self._path is not None
        if self._path.suffix == ".gz":
            return sys.maxsize
        fd = self._file.fileno()
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return self._offset  # a writer is writing; the next poll reads it
        try:
            status = os.fstat(fd)
            self._refuse_changed(status)
            return status.st_size
        finally:
            fcntl.flock(fd, fcntl.LOCK_UN)

    def _refuse_changed(self, status: os.stat_result) -> None:
        assert self._path is not None
        if status.st_size < self._offset:
            raise AuditError(f"audit log `{self._path}` was cut while it was read; verify it")
        try:
            same = os.path.samestat(status, self._path.stat())
        except FileNotFoundError:
            same = compressed_path(self._path).is_file()
        if not same:
            raise AuditError(
                f"audit log `{self._path}` was removed or replaced while it was read; verify it"
            )
