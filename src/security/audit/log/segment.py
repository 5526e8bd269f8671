"""(8) The current file of the log, and the only code that writes it. Blocking.

A commit runs under an exclusive `flock`, which other processes take too. It waits for this lock no
longer than `lock_seconds`, and then:

1. the path must still lead to the open file; a log that was removed or replaced is never recreated;
2. if the file has grown, another process wrote: continue from its last record, which must be sound;
   if that record closes the file, continue in the next file;
3. bytes after the last newline are a write that a crash interrupted: they are replaced, and a
   `LogRecovered` record says so;
4. a file that is too large or too old gets a `SegmentClosed` record, and the next file is begun:
   its lock is taken before the old one is released, so that there is one writer at any time;
5. the batch is chained, written at the committed offset and, for `Durability.SYNC`, synced;
6. the records before it must still be there: a file that was cut meanwhile would have a hole.

The chain state (head, offset) advances only when all of that succeeded. If the write fails, the
file is cut back to the committed offset, and the next commit starts again. If the *sync* fails, the
kernel may have dropped the dirty pages and will report success for a second sync, so this
descriptor cannot be trusted any more: the segment stays failed until the log is opened again.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final

import msgspec

from caps.protocol.disk.path_check import path_check
from caps.protocol.disk.regular_files import (
    CREATE_FLAGS,
    remove_hole,
    sync_directory,
    was_cut,
    write_at,
)
from caps.protocol.errors import AuditError
from caps.security.audit.files.lock import LogLock
from caps.security.audit.files.reader import segment_name
from caps.security.audit.files.tail import first_timestamp, newest_segment, read_tail
from caps.security.audit.log.batch import WriteAttempt
from caps.security.audit.log.open_checks import segment_preamble
from caps.security.audit.log.rotation import NEVER
from caps.security.audit.log.settings import AuditSettings, Durability
from caps.security.audit.model.chain import ORIGIN, EncodedRecord, Entry, Head, seal_all
from caps.security.audit.model.records import (
    CHECKPOINT_WITNESSES,
    AuditEvent,
    KeyRotated,
    LogOpened,
    OutcomeRecorded,
    SegmentClosed,
    timestamp,
)
from caps.security.audit.model.sanitize import encode_all, encode_event
from caps.security.audit.model.templates import SIGNED_SEQ_GAP
from caps.security.audit.signing.checkpoint_writer import CheckpointWriter

_OUTCOME_KIND: Final = "outcome_recorded"
WITNESS_KINDS: Final = frozenset(kind.__struct_config__.tag for kind in CHECKPOINT_WITNESSES)
_WITNESSING: Final = frozenset((OutcomeRecorded, *CHECKPOINT_WITNESSES))
_CUT: Final = "it was cut while open; verify it, and exclude it from log rotation"


class Segment:
    """The open end of a log. The caller makes sure that only one method runs at a time."""

    def __init__(
        self, settings: AuditSettings, opening: LogOpened, checkpoints: CheckpointWriter
    ) -> None:
        """Open or create the newest file; mend a torn tail. Raises `OSError` or `AuditError`."""
        directory = settings.directory
        self._directory = directory
        self._opening = opening
        self._sync = settings.durability is Durability.SYNC
        self._checkpoints = checkpoints
        self._checkpoint_every = settings.checkpoint_every
        self._lock = LogLock(settings.lock_seconds, directory)
        self._rotation = settings.rotation
        # With fewer records than these, no slow commit is due.
        self._slow_from = self._checkpoint_every if self._rotation is NEVER else 0
        self._pid = os.getpid()
        self._head = ORIGIN
        self._unpinned = 0
        self._mentioned: int | None = None
        self._torn: bytes = b""
        self._failure: str | None = None
        self.on_written: Callable[[int, Sequence[bytes]], None] | None = None
        """Called after every write, with the number of the first record, and the lines."""
        number = newest_segment(directory)
        self._use_file(number, os.open(directory / segment_name(number), CREATE_FLAGS, 0o600))
        try:
            self.opening_lines = self.commit([])
        except BaseException:
            self.close()
            raise

    def _use_file(self, number: int, fd: int) -> None:
        self._number = number
        self._path = self._directory / segment_name(number)
        self._fd = fd
        # The usual case, found by one call: the path is our file, and only we wrote it.
        self._path_has = path_check(str(self._path), fd)
        self._offset = 0
        self._ended = False
        self._started_at: float | None = None

    @property
    def head(self) -> Head:
        """The last record that this process knows to be committed."""
        return self._head

    @property
    def number(self) -> int:
        """The number of the current file."""
        return self._number

    @property
    def unpinned(self) -> int:
        """How many records of this process are not covered by a checkpoint."""
        return self._unpinned

    def slow_commit_due(self, records: int) -> bool:
        """Whether a commit of n records ends with a checkpoint or begins a file, and so syncs."""
        return self._unpinned + records >= self._checkpoint_every or (
            self._rotation is not NEVER and self._rotation_reason() is not None
        )

    def commit(
        self, entries: Sequence[Entry], *, wait: bool = True, attempt: WriteAttempt | None = None
    ) -> list[bytes]:
        """Write all `entries` in sequence, or nothing; return the lines that were written.

        `attempt` gets the data just before the write, so that `has` can check it later. Raises
        `AuditError`; `BlockingIOError` if not `wait` and another process holds the lock.
        """
        self.require_usable()
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

    def commit_encoded(
        self, records: Sequence[EncodedRecord], kind: str, attempt: WriteAttempt
    ) -> bool:
        """`commit` of records of one kind that are appended now, without waiting: its fast path.

        For the usual case, that only the steps 5 and 6 are needed. All other cases are left to
        `commit`, which begins again. False, with no effect, if a sync is due, or if these records
        would have to say which one is signed and have no gap for it.
        """
        if self._unpinned + len(records) >= self._slow_from and self.slow_commit_due(len(records)):
            return False
        if kind in WITNESS_KINDS:
            records = self.insert_signed_seq(records, kind)
        elif kind == _OUTCOME_KIND and self._checkpoints.signed_seq != self._mentioned:
            return False
        if self._failure is not None or os.getpid() != self._pid:
            self.require_usable()
        now, fd, offset = timestamp(), self._fd, self._offset
        entries = [(record, now) for record in records]
        self._lock.take(fd, self._path, wait=False)
        try:
            if offset > 0 and not self._torn and not self._ended and self._path_has(offset):
                self._append(entries, attempt)
                return True
        finally:
            fcntl.flock(fd, fcntl.LOCK_UN)
        self.commit(entries, wait=False, attempt=attempt)
        return True

    def encode(self, event: AuditEvent) -> EncodedRecord:
        """`encode_event`; an event of some kinds also says which record is signed.

        That checkpoint is durable before the event is written, so a crash never leaves a record
        that mentions a lost one.
        """
        return encode_event(self._witnessing(event))

    def encode_all(self, events: Sequence[AuditEvent]) -> list[EncodedRecord]:
        """`encode` of each event; raises `AuditError` if any of them cannot be recorded."""
        if _WITNESSING.isdisjoint(map(type, events)):
            return encode_all(events)
        mentioned = self._mentioned
        try:
            return encode_all([*map(self._witnessing, events)])
        except BaseException:
            self._mentioned = mentioned
            raise

    def insert_signed_seq(
        self,
        records: Sequence[EncodedRecord],
        kind: str,  # noqa: ARG002 - one of `WITNESS_KINDS`: tests tell them apart
    ) -> Sequence[EncodedRecord]:
        """The records of one of `WITNESS_KINDS` as they are written: they say which one is signed.

        As in `encode`, where the text that leads to the time has the gap for it.
        """
        signed = self._mentioned = self._checkpoints.signed_seq
        text = "" if signed is None else f'"signed_seq":{signed},'
        return [(a, b, c, to_ts.replace(SIGNED_SEQ_GAP, text), e) for a, b, c, to_ts, e in records]

    def _witnessing(self, event: AuditEvent) -> AuditEvent:
        signed = self._checkpoints.signed_seq
        is_due = type(event) is OutcomeRecorded and signed != self._mentioned
        if is_due or isinstance(event, CHECKPOINT_WITNESSES):
            self._mentioned = signed
            event = msgspec.structs.replace(event, signed_seq=signed)
        return event

    def has(self, attempt: WriteAttempt) -> bool:
        """Whether the data of `attempt` is in the current file."""
        return attempt.succeeded(self._fd)

    def pin(self) -> None:
        """Sign the head if this process wrote since the last checkpoint. Raises `AuditError`."""
        if self._unpinned == 0:
            return
        with self._pinning():
            self._commit_locked([])
            self._pin_locked()
            self._checkpoints.check_copies()

    def change_key(
        self, make_record: Callable[[], KeyRotated], swap: Callable[[], None]
    ) -> KeyRotated:
        """Record a new signing key between a checkpoint by the old key and one by the new key.

        `make_record` and `swap`, which puts the new key in place, run under the lock.
        """
        with self._pinning():
            record = make_record()
            self._commit_locked([(self.encode(record), timestamp())])
            self._pin_locked()
            swap()
            self._pin_locked()
        return record

    @contextmanager
    def _pinning(self) -> Iterator[None]:
        self.require_usable()
        try:
            self._lock.take(self._fd, self._path, wait=True)
            try:
                yield
            finally:
                fcntl.flock(self._fd, fcntl.LOCK_UN)
        except OSError as error:
            raise AuditError(
                f"cannot write a checkpoint next to `{self._path}`: {error.strerror}"
            ) from error

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._lock.close()
            self._fd = -1
            self._failure = "it was closed"

    def require_usable(self) -> None:
        """Raise `AuditError` if no further commit can succeed."""
        if self._failure is not None:
            raise AuditError(f"audit log `{self._path}` is not writable: {self._failure}")
        if os.getpid() != self._pid:
            # A forked child shares the lock of its parent, so both would hold it.
            raise AuditError(
                f"audit log `{self._path}` was opened by another process; open it again"
            )

    def _commit_locked(
        self, entries: Sequence[Entry], *, wait: bool = True, attempt: WriteAttempt | None = None
    ) -> list[bytes]:
        if self._ended or not self._path_has(self._offset):
            self._catch_up(wait=wait)
        # Rotation needs syncs, so a commit that may not wait leaves it to the next one that may.
        may_rotate = wait and entries and self._rotation is not NEVER
        closing = self._rotate_if_due() if may_rotate else []
        if self._torn or self._offset == 0:
            entries = (*self._preamble(), *entries)
        if not entries:
            return closing
        lines = self._append(entries, attempt)
        return closing + lines if closing else lines

    def _rotate_if_due(self) -> list[bytes]:
        """Close a file that is too large or too old, and begin the next one."""
        reason = self._rotation_reason() if self._offset else None
        if reason is None:
            return []
        lines = self._append([(encode_event(SegmentClosed(reason=reason)), timestamp())])
        self._ended = True
        self._try_pin()
        self._catch_up(wait=True)
        return lines

    def _append(self, entries: Sequence[Entry], attempt: WriteAttempt | None = None) -> list[bytes]:
        lines, head = seal_all(entries, self._head)
        data = lines[0] if len(lines) == 1 else b"".join(lines)
        if attempt is not None:
            attempt.written = (self._offset, data)
        self._write(data)
        self._head = head
        self._offset += len(data)
        self._unpinned += len(lines)
        self._torn = b""
        if self.on_written is not None:
            self.on_written(head.seq - len(lines) + 1, lines)
        return lines

    def _preamble(self) -> list[Entry]:
        """The records of the log itself that come before the batch."""
        events = segment_preamble(
            self._directory, self._number, self._head, at_start=self._offset == 0, torn=self._torn
        )
        if self._head is ORIGIN:
            events.insert(0, self._opening)
        return [(self.encode(event), timestamp()) for event in events]

    def _rotation_reason(self) -> Any:
        if self._started_at is None and self._rotation.seconds is not None and self._offset:
            self._started_at = first_timestamp(self._path)
        return self._rotation.due(self._offset, self._started_at)

    def _catch_up(self, *, wait: bool) -> None:
        """Continue after the records of other processes; refuse a file that is not ours."""
        while True:
            status = os.fstat(self._fd)
            if status.st_size > self._offset:
                if was_cut(self._fd, self._offset, self._offset):
                    raise AuditError(f"audit log `{self._path}` is not usable: {_CUT}")
                self._read_tail(status.st_size)
            if not self._ended:
                break
            # Before the path is checked: a file that has a successor may have been compressed.
            self._open_next(wait=wait)
        try:
            same = os.path.samestat(status, self._path.stat())
        except FileNotFoundError:
            same = False
        if not same:
            raise AuditError(f"audit log `{self._path}` was removed or replaced while open")
        if status.st_size < self._offset:
            raise AuditError(f"audit log `{self._path}` is not usable: {_CUT}")

    def _read_tail(self, size: int) -> None:
        tail = read_tail(self._fd, size, self._path)
        rewritten = self._offset > 0 if tail.head is None else tail.head.seq < self._head.seq
        if rewritten:
            raise AuditError(f"audit log `{self._path}` was rewritten while open; verify it")
        if tail.head is not None:
            self._head, self._offset = tail.head, tail.end
        self._torn = tail.torn or self._torn
        self._ended = tail.closed

    def _open_next(self, *, wait: bool) -> None:
        """Switch from a closed file to the newest file, or create its successor.

        A successor is created under the lock of the previous file, so by one process only. One
        that exists already may be compressed at any moment, and must not be created again.
        """
        number = max(newest_segment(self._directory), self._number)
        flags = CREATE_FLAGS & ~os.O_CREAT
        if number == self._number:
            number, flags = number + 1, CREATE_FLAGS
        path = self._directory / segment_name(number)
        try:
            fd = os.open(path, flags, 0o600)
        except FileNotFoundError:
            return  # compressed meanwhile; the caller tries again
        except OSError as error:
            raise AuditError(f"cannot begin audit log `{path}`: {error.strerror}") from error
        try:
            self._lock.take_next(fd, path, wait=wait)
            sync_directory(self._directory)
        except BaseException:
            os.close(fd)
            raise
        os.close(self._fd)
        self._use_file(number, fd)

    def _write(self, data: bytes) -> None:
        fd, offset = self._fd, self._offset
        try:
            end = offset + os.pwrite(fd, data, offset)
            if end < offset + len(data):
                end = write_at(fd, data[end - offset :], end)
            if self._torn:
                # The rest of the torn line is removed last, so that a crash leaves it torn.
                os.ftruncate(fd, end)
        except OSError as error:
            self._undo_write()
            raise AuditError(
                f"cannot write to audit log `{self._path}`: {error.strerror}"
            ) from error
        if self._sync:
            self._sync_or_fail()
        try:
            if was_cut(fd, offset, end):
                self._refuse_hole()
        except OSError as error:
            self._failure = f"it cannot be read after a write ({error.strerror}); open it again"
            self.require_usable()

    def _refuse_hole(self) -> None:
        """Fail for good: the file was cut since step 1, and the write is not after the records."""
        self._failure = _CUT
        remove_hole(self._fd, self._offset)
        self.require_usable()

    def _sync_or_fail(self) -> None:
        try:
            os.fdatasync(self._fd)
        except OSError as error:
            self._failure = f"a sync failed ({error.strerror}); mend the disk and open it again"
            self._undo_write()
            self.require_usable()

    def _undo_write(self) -> None:
        """Cut back to the committed offset, so that no writer continues from uncommitted data."""
        try:
            os.ftruncate(self._fd, self._offset)
        except OSError as error:
            self._failure = f"a failed write cannot be undone ({error.strerror}); open it again"

    def _try_pin(self) -> None:
        # The records are committed, so a checkpoint that fails must not make their append fail. It
        # stays due: every commit tries again, and closing the log reports it.
        with suppress(OSError, AuditError):
            self._pin_locked()

    def _pin_locked(self) -> None:
        # Sync the records first: a checkpoint that survives a power cut without them would make a
        # sound log look cut.
        os.fdatasync(self._fd)
        self._checkpoints.sign(self._head, self._number)
        self._unpinned = 0
