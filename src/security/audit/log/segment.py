"""(8) The file of the log that is written now, and the only code that writes it. Blocking.

A commit, all of it under an exclusive `flock` that other processes honour too, and that is waited
for no longer than `lock_seconds`:

1. the path must still lead to the open file; a log that was removed or replaced is never recreated;
2. if the file has grown, another process wrote: continue from its last record, which must be sound;
   if that record closes the file, the log goes on in the next one, and so do we;
3. bytes after the last newline are a write that a crash cut short: they are replaced, and a
   `LogRecovered` record says so;
4. a file that is too large or too old gets its `SegmentClosed`, and the next one is begun: its
   lock is taken before the old one is let go, so that there is one writer all the time;
5. the whole batch is chained, written at the committed offset and, for `Durability.SYNC`, synced.

The chain state (head, offset) moves only when all of that succeeded. If the write fails the file is
cut back to the committed offset and the next commit starts afresh. If the *sync* fails, the kernel
may have dropped the unwritten pages and will call a second sync a success, so nothing that this
descriptor says can be believed any more: the segment stays failed until the log is opened again.
"""

from __future__ import annotations

import enum
import fcntl
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from caps.protocol.errors import AuditError
from caps.security.audit.attempt import Attempt
from caps.security.audit.model.sanitize import storable
from caps.security.audit.model.chain import ORIGIN, Head, seal_all
from caps.security.audit.files.key_files import sync_directory
from caps.security.audit.files.lock import DEFAULT_LOCK_SECONDS, LogLock
from caps.security.audit.log.open_checks import file_events
from caps.security.audit.signing.checkpoint_writer import Notary
from caps.security.audit.files.reader import segment_name
from caps.security.audit.model.records import (
    AuditEvent,
    LogOpened,
    SegmentClosed,
    timestamp,
)
from caps.security.audit.log.rotation import NEVER, Rotation
from caps.security.audit.spelling import Spelt
from caps.security.audit.files.tail import born, newest_segment, read_tail

# A storable event, and when it was handed in.
Entry = tuple[Spelt, str]

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


class Durability(enum.Enum):
    """What a returned append promises."""

    SYNC = "sync"  # the record survives a power cut
    OS = "os"  # the record survives the process, not the machine


class Segment:
    """The open end of a log. One call at a time; the caller sees to that."""

    def __init__(
        self,
        directory: Path,
        *,
        opening: LogOpened,
        durability: Durability,
        notary: Notary,
        checkpoint_every: int,
        lock_seconds: float = DEFAULT_LOCK_SECONDS,
        rotation: Rotation = NEVER,
    ) -> None:
        """Opens or creates the newest file, mends a torn tail. Raises `OSError`, `AuditError`."""
        self._directory = directory
        self._opening = opening
        self._sync = durability is Durability.SYNC
        self._notary = notary
        self._checkpoint_every = checkpoint_every
        self._lock = LogLock(lock_seconds, directory)
        self._rotation = rotation
        self._pid = os.getpid()
        self._head = ORIGIN
        self._unpinned = 0
        self._torn: bytes = b""
        self._failure: str | None = None
        self.on_written: Callable[[int, Sequence[bytes]], None] | None = None
        """Hears of everything that is written: the number of the first record, and the lines."""
        number = newest_segment(directory)
        self._take_up(number, os.open(directory / segment_name(number), _FLAGS, 0o600))
        try:
            self.opening_lines = self.commit([])
        except BaseException:
            self.close()
            raise

    def _take_up(self, number: int, fd: int) -> None:
        self._number = number
        self._path = self._directory / segment_name(number)
        self._name = str(self._path)
        self._fd = fd
        status = os.fstat(fd)
        self._file = (status.st_ino, status.st_dev)
        self._offset = 0
        self._ended = False
        self._born: float | None = None

    @property
    def head(self) -> Head:
        """The last record that this process knows to be committed."""
        return self._head

    @property
    def number(self) -> int:
        """The number of the file that is written."""
        return self._number

    @property
    def unpinned(self) -> int:
        """How many records this process wrote that no checkpoint covers."""
        return self._unpinned

    def slow_commit_due(self, records: int) -> bool:
        """Whether a commit of so many ends with a checkpoint or begins a file, and so syncs."""
        return self._unpinned + records >= self._checkpoint_every or (
            self._rotation is not NEVER and self._rotation_reason() is not None
        )

    def commit(
        self, entries: Sequence[Entry], *, wait: bool = True, attempt: Attempt | None = None
    ) -> list[bytes]:
        """Writes `entries` as one unbroken piece of the chain, or nothing; the lines written.

        `attempt` is told what is about to be written, for who wants to ask `has` of it. Raises
        `AuditError`; `BlockingIOError` if another process holds the lock and not `wait`.
        """
        self.refuse_unusable()
        self._lock.take(self._fd, self._path, wait=wait)
        try:
            lines = self._commit_locked(entries, wait=wait, attempt=attempt)
            if self._unpinned >= self._checkpoint_every:
                self._try_pin()
        except BlockingIOError:
            raise
        except OSError as error:
            raise AuditError(f"cannot read audit log `{self._path}`: {error.strerror}") from error
        finally:
            fcntl.flock(self._fd, fcntl.LOCK_UN)
        return lines

    def has(self, attempt: Attempt) -> bool:
        """Whether it is in the file that is written now."""
        return attempt.went_in(self._fd)

    def pin(self) -> None:
        """Signs the head if this process wrote since the last checkpoint. Raises `AuditError`."""
        if self._unpinned == 0:
            return
        with self._pinning():
            self._commit_locked([])
            self._pin_locked()
            self._notary.settle()

    def change_key(
        self, draw_up: Callable[[], AuditEvent], swap: Callable[[], None]
    ) -> list[bytes]:
        """Records a new signing key between a checkpoint by the old one and one by the new.

        `draw_up` makes the record and `swap` puts the new key in place, both under the lock.
        """
        with self._pinning():
            lines = self._commit_locked([(storable(draw_up()), timestamp())])
            self._pin_locked()
            swap()
            self._pin_locked()
        return lines

    @contextmanager
    def _pinning(self) -> Iterator[None]:
        self.refuse_unusable()
        try:
            self._lock.take(self._fd, self._path, wait=True)
            try:
                yield
            finally:
                fcntl.flock(self._fd, fcntl.LOCK_UN)
        except OSError as error:
            raise AuditError(
                f"cannot write a checkpoint beside `{self._path}`: {error.strerror}"
            ) from error

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._lock.close()
            self._fd = -1
            self._failure = "it was closed"

    def refuse_unusable(self) -> None:
        """Raises `AuditError` if no commit can succeed here any more."""
        if self._failure is not None:
            raise AuditError(f"audit log `{self._path}` takes no records: {self._failure}")
        if os.getpid() != self._pid:
            # A forked child shares the lock of its parent, so both would hold it at once.
            raise AuditError(
                f"audit log `{self._path}` was opened by another process; open it anew"
            )

    def _commit_locked(
        self, entries: Sequence[Entry], *, wait: bool = True, attempt: Attempt | None = None
    ) -> list[bytes]:
        if not self._nothing_new():
            self._catch_up(wait=wait)
        # Who cannot wait leaves it to the next who can: it takes syncs.
        may_close = wait and entries and self._rotation is not NEVER
        closing = self._closed_if_due() if may_close else []
        if self._torn or self._offset == 0:
            entries = (*self._preface(), *entries)
        if not entries:
            return closing
        lines = self._chained(entries, attempt)
        return closing + lines if closing else lines

    def _closed_if_due(self) -> list[bytes]:
        """Ends a file that is too large or too old, and begins the next one."""
        reason = self._rotation_reason() if self._offset else None
        if reason is None:
            return []
        lines = self._chained([(storable(SegmentClosed(reason=reason)), timestamp())])
        self._ended = True
        self._try_pin()
        self._catch_up(wait=True)
        return lines

    def _chained(self, entries: Sequence[Entry], attempt: Attempt | None = None) -> list[bytes]:
        lines, head = seal_all(entries, self._head)
        data = b"".join(lines)
        if attempt is not None:
            attempt.begin(self._offset, data)
        self._write(data)
        self._head = head
        self._offset += len(data)
        self._unpinned += len(lines)
        self._torn = b""
        if self.on_written is not None:
            self.on_written(head.seq - len(lines) + 1, lines)
        return lines

    def _nothing_new(self) -> bool:
        """The usual case, settled by one look: the path leads to our file, and only we wrote it."""
        try:
            status = os.stat(self._name)  # noqa: PTH116 - the hot path
        except FileNotFoundError:
            return False
        # The number of an open file is given to no other.
        same = (status.st_ino, status.st_dev) == self._file
        return same and status.st_size == self._offset and not self._ended

    def _preface(self) -> list[Entry]:
        """What the log itself has to say before the batch."""
        events = file_events(
            self._directory, self._number, self._head, at_start=self._offset == 0, torn=self._torn
        )
        if self._head is ORIGIN:
            events.insert(0, self._opening)
        return [(storable(event), timestamp()) for event in events]

    def _rotation_reason(self) -> Any:
        if self._born is None and self._rotation.seconds is not None and self._offset:
            self._born = born(self._path)
        return self._rotation.due(self._offset, self._born)

    def _catch_up(self, *, wait: bool) -> None:
        """Takes over what others wrote since the last commit; refuses a file that is not ours."""
        while True:
            status = os.fstat(self._fd)
            if status.st_size > self._offset:
                self._adopt(status.st_size)
            if not self._ended:
                break
            # Before the path is looked at: a file that has a successor may have been compressed.
            self._move_on(wait=wait)
        try:
            same = os.path.samestat(status, os.stat(self._name))  # noqa: PTH116 - a text
        except FileNotFoundError:
            same = False
        if not same:
            raise AuditError(f"audit log `{self._path}` was removed or replaced while open")
        if status.st_size < self._offset:
            raise AuditError(f"audit log `{self._path}` was cut while open; verify it")

    def _adopt(self, size: int) -> None:
        tail = read_tail(self._fd, size, self._path)
        if tail.head is not None:
            if tail.head.seq < self._head.seq:
                raise AuditError(f"audit log `{self._path}` was rewritten while open; verify it")
            self._head, self._offset = tail.head, tail.end
        elif self._offset:
            raise AuditError(f"audit log `{self._path}` was rewritten while open; verify it")
        self._torn = tail.torn or self._torn
        self._ended = tail.closed

    def _move_on(self, *, wait: bool) -> None:
        """Leaves a closed file for the newest, or for a successor that is made here.

        Successors are made under the lock of the file before, so by nobody else meanwhile; one
        that is there already may be compressed at any moment, and must not be made again.
        """
        number = max(newest_segment(self._directory), self._number)
        flags = _FLAGS & ~os.O_CREAT
        if number == self._number:
            number, flags = number + 1, _FLAGS
        path = self._directory / segment_name(number)
        try:
            fd = os.open(path, flags, 0o600)
        except FileNotFoundError:
            return  # compressed since; the caller asks again
        except OSError as error:
            raise AuditError(f"cannot begin audit log `{path}`: {error.strerror}") from error
        try:
            self._lock.take_too(fd, path, wait=wait)
            sync_directory(self._directory)
        except BaseException:
            os.close(fd)
            raise
        os.close(self._fd)
        self._take_up(number, fd)

    def _write(self, data: bytes) -> None:
        try:
            at = self._offset + os.pwrite(self._fd, data, self._offset)
            while at < self._offset + len(data):
                at += os.pwrite(self._fd, data[at - self._offset :], at)
            if self._torn:
                # The rest of the torn line goes only now: until here a crash left it torn.
                os.ftruncate(self._fd, at)
        except OSError as error:
            self._cut_back()
            raise AuditError(
                f"cannot write to audit log `{self._path}`: {error.strerror}"
            ) from error
        if self._sync:
            self._sync_or_fail()

    def _sync_or_fail(self) -> None:
        try:
            os.fdatasync(self._fd)
        except OSError as error:
            self._failure = f"a sync failed ({error.strerror}); mend the disk and open it again"
            self._cut_back()
            raise AuditError(
                f"audit log `{self._path}` takes no records: {self._failure}"
            ) from error

    def _cut_back(self) -> None:
        """Back to the committed offset, so that nobody continues from what was not promised."""
        try:
            os.ftruncate(self._fd, self._offset)
        except OSError as error:
            self._failure = f"a failed write cannot be undone ({error.strerror}); open it again"

    def _try_pin(self) -> None:
        # The records are committed, so a checkpoint that fails must not make their append fail. It
        # stays due: every commit tries again, and closing the log reports it.
        try:
            self._pin_locked()
        except (OSError, AuditError):
            return

    def _pin_locked(self) -> None:
        # The records first: a checkpoint that outlived them in a power cut would cry wolf.
        os.fdatasync(self._fd)
        self._notary.sign(self._head, self._number)
        self._unpinned = 0
