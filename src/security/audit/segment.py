"""(8) One file of the log, and the only code that writes it. Blocking; knows no event loop.

A commit, all of it under an exclusive `flock` that other processes honour too, and that is waited
for no longer than `lock_seconds`:

1. the path must still lead to the open file; a log that was removed or replaced is never recreated;
2. if the file has grown, another process wrote: continue from its last record, which must be sound;
3. bytes after the last newline are a write that a crash cut short: they are replaced, and a
   `LogRecovered` record says so;
4. the whole batch is chained, written at the committed offset and, for `Durability.SYNC`, synced.

The chain state (head, offset) moves only when all of that succeeded. If the write fails the file is
cut back to the committed offset and the next commit starts afresh. If the *sync* fails, the kernel
may have dropped the unwritten pages and will call a second sync a success, so nothing that this
descriptor says can be believed any more: the segment stays failed until the log is opened again.
"""

from __future__ import annotations

import enum
import fcntl
import hashlib
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from caps.protocol.errors import AuditError
from caps.security.audit.bounds import storable
from caps.security.audit.chain import ORIGIN, Flaw, Head, inspect, seal
from caps.security.audit.checkpoint import Signer, append_checkpoint
from caps.security.audit.reader import segment_number
from caps.security.audit.records import MAX_LINE_BYTES, LogOpened, LogRecovered, timestamp

# The storable fields of an event, and when it was handed in.
Entry = tuple[dict[str, Any], str]

_FIRST_WINDOW: Final = 8 * 1024
# A sound last record and a torn one after it always fit.
_LAST_WINDOW: Final = 2 * (MAX_LINE_BYTES + 1)


DEFAULT_LOCK_SECONDS: Final = 5.0
_FIRST_PAUSE: Final = 0.0005
_LONGEST_PAUSE: Final = 0.02
# Once waiting was in vain, calls one after the other must not each wait as long again.
_PATIENCE_AFTER_FAILURE: Final = 0.02


class Durability(enum.Enum):
    """What a returned append promises."""

    SYNC = "sync"  # the record survives a power cut
    OS = "os"  # the record survives the process, not the machine


@dataclass(frozen=True, slots=True)
class _Tail:
    """How a file ends: its last whole record, where that ends, and what a crash left after it."""

    head: Head
    end: int
    torn: bytes


class Segment:
    """An open log file. One call at a time; the caller sees to that."""

    def __init__(
        self,
        path: Path,
        *,
        opening: LogOpened,
        durability: Durability,
        signer: Signer,
        checkpoint_every: int,
        lock_seconds: float = DEFAULT_LOCK_SECONDS,
    ) -> None:
        """Opens or creates `path`, mends a torn tail. Raises `OSError` or `AuditError`."""
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        self._path = path
        self._name = str(path)
        self._opening = opening
        self._sync = durability is Durability.SYNC
        self._signer = signer
        self._checkpoint_every = checkpoint_every
        self._lock_seconds = lock_seconds
        self._patience = lock_seconds
        self._pid = os.getpid()
        self._head = ORIGIN
        self._offset = 0
        self._unpinned = 0
        self._torn: bytes = b""
        self._failure: str | None = None
        self._fd = os.open(path, flags, 0o600)
        try:
            self.commit([])
        except BaseException:
            self.close()
            raise

    @property
    def head(self) -> Head:
        """The last record that this process knows to be committed."""
        return self._head

    def checkpoint_due_within(self, records: int) -> bool:
        """Whether a commit of so many ends with a checkpoint, and so with a sync."""
        return self._unpinned + records >= self._checkpoint_every

    def commit(self, entries: Sequence[Entry], *, wait: bool = True) -> None:
        """Writes `entries` as one unbroken piece of the chain, or nothing.

        Raises `AuditError`; `BlockingIOError` if another process holds the lock and not `wait`.
        """
        self._refuse_unusable()
        self._lock(wait=wait)
        try:
            self._commit_locked(entries)
            if self._unpinned >= self._checkpoint_every:
                self._try_pin()
        except OSError as error:
            raise AuditError(f"cannot read audit log `{self._path}`: {error.strerror}") from error
        finally:
            fcntl.flock(self._fd, fcntl.LOCK_UN)

    def pin(self) -> None:
        """Signs the head if this process wrote since the last checkpoint. Raises `AuditError`."""
        if self._unpinned == 0:
            return
        self._refuse_unusable()
        try:
            self._lock(wait=True)
            try:
                self._commit_locked([])
                self._pin_locked()
            finally:
                fcntl.flock(self._fd, fcntl.LOCK_UN)
        except OSError as error:
            raise AuditError(
                f"cannot write a checkpoint beside `{self._path}`: {error.strerror}"
            ) from error

    def _lock(self, *, wait: bool) -> None:
        """Take the lock. Raises AuditError if others keep it; BlockingIOError if not `wait`."""
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not wait:
                raise
            self._wait_for_lock(time.monotonic() + self._patience)
        self._patience = self._lock_seconds

    def _wait_for_lock(self, deadline: float) -> None:
        # The kernel's own waiting has no deadline, so this asks again and again.
        pause = _FIRST_PAUSE
        while time.monotonic() < deadline:
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
            try:
                return fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
        self._patience = min(self._lock_seconds, _PATIENCE_AFTER_FAILURE)
        raise AuditError(
            f"audit log `{self._path}` cannot be written: another process holds the log"
        )

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
            self._failure = "it was closed"

    def _refuse_unusable(self) -> None:
        if self._failure is not None:
            raise AuditError(f"audit log `{self._path}` takes no records: {self._failure}")
        if os.getpid() != self._pid:
            # A forked child shares the lock of its parent, so both would hold it at once.
            raise AuditError(
                f"audit log `{self._path}` was opened by another process; open it anew"
            )

    def _commit_locked(self, entries: Sequence[Entry]) -> None:
        self._catch_up()
        lines: list[bytes] = []
        head = self._head
        if self._torn or head is ORIGIN:
            entries = (*self._preface(), *entries)
        for fields, ts in entries:
            line, head = seal(fields, ts, head)
            lines.append(line)
        if not lines:
            return
        data = b"".join(lines)
        self._write(data)
        self._head = head
        self._offset += len(data)
        self._unpinned += len(lines)
        self._torn = b""

    def _preface(self) -> list[Entry]:
        """What the log itself has to say before the batch."""
        entries: list[Entry] = []
        if self._head is ORIGIN:
            entries.append((storable(self._opening), timestamp()))
        if self._torn:
            digest = hashlib.sha256(self._torn).hexdigest()
            event = LogRecovered(dropped_bytes=len(self._torn), dropped_sha256=digest)
            entries.append((storable(event), timestamp()))
        return entries

    def _catch_up(self) -> None:
        """Takes over what others wrote since the last commit; refuses a file that is not ours."""
        status = os.fstat(self._fd)
        try:
            same = os.path.samestat(status, os.stat(self._name))  # noqa: PTH116 - the hot path
        except FileNotFoundError:
            same = False
        if not same:
            raise AuditError(f"audit log `{self._path}` was removed or replaced while open")
        if status.st_size < self._offset:
            raise AuditError(f"audit log `{self._path}` was cut while open; verify it")
        if status.st_size > self._offset:
            tail = self._read_tail(status.st_size)
            if tail.head.seq < self._head.seq:
                raise AuditError(f"audit log `{self._path}` was rewritten while open; verify it")
            self._head, self._offset = tail.head, tail.end
            self._torn = tail.torn or self._torn

    def _read_tail(self, size: int) -> _Tail:
        window = _FIRST_WINDOW
        while True:
            start = max(0, size - window)
            data = os.pread(self._fd, size - start, start)
            last = data.rfind(b"\n")
            before = data.rfind(b"\n", 0, max(last, 0))
            if last >= 0 and (before >= 0 or start == 0):
                head = self._sound_head(data[before + 1 : last])
                return _Tail(head, start + last + 1, data[last + 1 :])
            if start == 0:
                return _Tail(ORIGIN, 0, data)
            if window >= _LAST_WINDOW:
                raise AuditError(f"audit log `{self._path}` does not end in a record; verify it")
            window = min(window * 8, _LAST_WINDOW)

    def _sound_head(self, line: bytes) -> Head:
        link = inspect(line)
        if isinstance(link, Flaw):
            raise AuditError(f"the last record of `{self._path}` {link.message}; verify it")
        return link.head

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
        except OSError:
            return

    def _pin_locked(self) -> None:
        # The records first: a checkpoint that outlived them in a power cut would cry wolf.
        os.fdatasync(self._fd)
        signed = self._signer.sign(self._head, segment=segment_number(self._path))
        append_checkpoint(self._path.parent, signed)
        self._unpinned = 0
