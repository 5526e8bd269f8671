"""(8) The audit log: `append` returns when the evidence is safe; if it raises, no effect follows.

Group commit: events that arrive while a batch is being written gather in the next batch. A thread
writes a batch in one piece, and all tasks that wait for it are woken together. So a hundred
concurrent calls cost a few syncs.

Cancellation: an appended event is written even if the waiting task is cancelled, and even if the
whole event loop ends meanwhile. A cancelled caller must not perform the effect: evidence of a call
that never happened is harmless, the reverse is not.

With `Durability.SYNC` commits run in the thread. With `Durability.OS` a commit is a write to the
page cache and runs inline, without yielding to the loop, unless another process holds the lock, a
checkpoint or a new file (hence a sync) is due, or the log must wait for a required sink.
"""

from __future__ import annotations

import functools
import secrets
import time
from collections.abc import Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from caps.protocol.argument_checks import has_methods, require
from caps.protocol.disk.regular_files import sync_directory
from caps.protocol.errors import AuditError
from caps.security.audit.files.key_files import redaction_key
from caps.security.audit.log.batch import CommitBatch, WriteAttempt
from caps.security.audit.log.feeds import start_feeds
from caps.security.audit.log.interface import AuditSink
from caps.security.audit.log.maintenance import MaintenanceThread
from caps.security.audit.log.open_checks import (
    check_checkpoints_present,
    check_segments_present,
    host_software,
)
from caps.security.audit.log.segment import Segment
from caps.security.audit.log.settings import AuditSettings, Durability, checked_settings
from caps.security.audit.log.writer import Writer
from caps.security.audit.model.chain import EncodedRecord, Head
from caps.security.audit.model.records import AuditEvent, KeyRotated, LogOpened, timestamp
from caps.security.audit.model.redaction import Redactor
from caps.security.audit.signing.checkpoint_writer import CheckpointWriter
from caps.security.audit.signing.finish_rotation import rotate_key

if TYPE_CHECKING:
    from caps.security.audit.sinks.interface import SinkObserver


class AuditLog(AuditSink):
    """A log directory. Used in one event loop at a time; several processes may share it."""

    def __init__(
        self,
        settings: AuditSettings,
        segment: Segment,
        writer: Writer,
        redactor: Redactor,
        maintenance: MaintenanceThread | None,
    ) -> None:
        self.redactor = redactor
        self.places = settings.places
        """Every file or directory that holds recorded data."""
        self._directory = settings.directory
        self._segment = segment
        self._writer = writer
        self._maintenance = maintenance
        self._inline = settings.durability is Durability.OS and not writer.waits
        # A subclass may override how events are appended, and must get all of them.
        self.takes_encoded = self._inline and type(self) is AuditLog
        self._gathering: CommitBatch | None = None
        self._flushing: CommitBatch | None = None
        # A separate thread, so that busy providers do not delay evidence.
        self._thread = ThreadPoolExecutor(1, "audit log")
        self._closed = False
        # The last inline commit, finished or not. Used by the loop only.
        self._attempt: WriteAttempt | None = None

    @classmethod
    def open(
        cls,
        settings: AuditSettings | Path | None = None,
        *,
        observer: SinkObserver | None = None,
        **fields: Any,
    ) -> AuditLog:
        """Open a log directory, or create it with its keys and first record.

        Instead of `AuditSettings`, a directory and the same fields as keywords may be given; then
        `checkpoint_seconds` is None by default. `observer` is notified of the state of the sinks.
        Raises `AuditError` if the directory cannot be created, its end is not sound, or its
        records are gone; `ConfigurationError` if a sink is not possible or a value has a wrong
        type.
        """
        settings = checked_settings(settings, fields)
        known = observer is None or has_methods(observer, "sink_up", "sink_dropped")
        require(known, "observer", observer, "a `SinkObserver`")
        directory = settings.directory
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            check_segments_present(directory)
            check_checkpoints_present(directory)
            redactor = Redactor(redaction_key(directory))
            checkpoints = CheckpointWriter(directory, settings.checkpoints_to)
            opening = LogOpened(writer=secrets.token_hex(16), host_software=host_software())
            segment = Segment(settings, opening, checkpoints)
            sync_directory(directory)
            writer = Writer(segment)
            checkpoints.on_checkpoint = writer.offer_checkpoint
            if settings.sinks:
                start_feeds(settings, writer, segment, observer)
        except OSError as error:
            reason = _why_not_opened(error, directory)
            raise AuditError(f"cannot open audit log `{directory}`: {reason}") from error
        maintenance = None
        if settings.checkpoint_seconds is not None or settings.compress:
            maintenance = MaintenanceThread(settings, writer, segment)
            maintenance.start()
        return cls(settings, segment, writer, redactor, maintenance)

    @property
    def head(self) -> Head:
        """The last record that this process committed or read."""
        return self._segment.head

    def append(self, event: AuditEvent) -> Coroutine[Any, Any, None]:
        """Commit one event; see `AuditSink.append`."""
        return self.append_all((event,))

    def append_now(self, events: Sequence[AuditEvent]) -> bool:
        """`append_all` without yielding to the loop; False, with no effect, if it must wait."""
        if self._closed:
            raise AuditError("the audit log is closed")
        idle = self._gathering is None and self._flushing is None
        return self._inline and idle and self._commit_inline(events)

    def append_encoded(self, records: Sequence[EncodedRecord], kind: str) -> bool:
        """The same for records that the caller has encoded; False also if the log must do that."""
        if self._closed:
            raise AuditError("the audit log is closed")
        if self._gathering is not None or self._flushing is not None or not self.takes_encoded:
            return False
        attempt = self._attempt = WriteAttempt(records)
        return self._writer.try_commit_encoded(records, kind, attempt)

    def has_recorded(self, events: Sequence[object]) -> bool:
        """Whether an interrupted append of these same objects had written them.

        Ask before the next append, which replaces the attempt.
        """
        attempt = self._attempt
        if attempt is None or [*map(id, attempt.events)] != [*map(id, events)]:
            return False
        return self._segment.has(attempt)

    async def append_all(self, events: Sequence[AuditEvent]) -> None:
        """Commit events in sequence, all or none; otherwise like `append`."""
        if self._closed:
            raise AuditError("the audit log is closed")
        now = time.time_ns()
        batch = self._gathering
        woken = None if batch is None else batch.waiters.join()
        if batch is None or woken is None:
            if batch is not None:  # its loop has ended and will not submit it
                self._submit(batch)
            elif self._inline and self._flushing is None and self._commit_inline(events):
                return
            batch = self._new_batch()
            woken = batch.waiters.wait()
        index = len(batch.appends)
        batch.appends.append((tuple(events), now))
        await woken
        batch.outcome(index)

    def _new_batch(self) -> CommitBatch:
        """Start a batch that gathers events, and schedule its write."""
        batch = CommitBatch()
        # Tasks that were woken together with this one append in the same turn, and join the batch:
        # otherwise every second batch would have one event and cost a sync. The write is scheduled
        # before any task can join, so that no interrupt can leave a task waiting for ever.
        batch.waiters.call_soon(self._flush)
        self._gathering = batch
        return batch

    async def aclose(self) -> None:
        """Wait for pending appends, sign the head, close the file. May be called again."""
        if self._closed:
            return
        self._closed = True
        with anyio.CancelScope(shield=True):
            while batch := self._gathering or self._being_written:
                woken = batch.waiters.join()
                if woken is None:
                    break  # no task waits for it any more; `close` writes it
                await woken
            await anyio.to_thread.run_sync(self.close, limiter=anyio.CapacityLimiter(1))

    async def __aenter__(self) -> AuditLog:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    def rotate_key(self) -> KeyRotated:
        """Replace the signing key. Blocking; raises `AuditError`."""
        return self._writer.exclusively(lambda: rotate_key(self._segment, self._directory))

    def close(self) -> None:
        """`aclose` for programs without an event loop, after the last append."""
        self._closed = True
        self._thread.shutdown()
        rest, self._gathering = self._gathering, None
        if rest is not None:
            self._write(rest)
        try:
            if self._maintenance is not None:
                self._maintenance.close()
        finally:
            self._writer.close()

    def _commit_inline(self, events: Sequence[AuditEvent]) -> bool:
        """True if committed; False if the commit would have to wait, which only a thread may."""
        if self._segment.slow_commit_due(len(events)):
            return False
        now = timestamp()
        entries = [(self._segment.encode(event), now) for event in events]
        attempt = self._attempt = WriteAttempt(events)
        return self._writer.try_commit(entries, attempt)

    @property
    def _being_written(self) -> CommitBatch | None:
        """The batch in the thread; a settled batch only has to wake its tasks."""
        batch = self._flushing
        return None if batch is None or batch.settled else batch

    def _flush(self) -> None:
        """Pass the gathered events to the thread, unless it is busy. Runs in the loop."""
        batch = self._gathering
        if batch is not None and self._being_written is None:
            self._gathering = None
            self._submit(batch)

    def _submit(self, batch: CommitBatch) -> None:
        """Have the thread commit the batch, after the earlier ones. Runs in the loop."""
        self._flushing = batch
        try:
            # Checked here as well, because a forked child has no thread to check it.
            self._segment.require_usable()
            self._thread.submit(self._write, batch)
        except Exception as error:  # noqa: BLE001 - `outcome` raises it for all waiting tasks
            if not batch.settled:
                batch.fail(error)
            self._notify(batch)

    def _write(self, batch: CommitBatch) -> None:
        """Commit the batch, and notify the tasks that wait for it. Runs in the thread."""
        if batch.settled:
            # The thread could not be started at first, and the tasks were notified; or their loop
            # has ended, and the batch was found twice.
            return
        batch.commit(
            self._segment.encode,
            lambda entries: self._writer.confirm(self._writer.commit(entries)),
            self._segment.encode_all,
        )
        if not self._notify(batch):
            self._write_rest()

    def _notify(self, batch: CommitBatch) -> bool:
        """Have the loop of the batch call `_conclude`; False if that loop has ended."""
        try:
            batch.waiters.call_from_thread(functools.partial(self._conclude, batch))
        except RuntimeError:
            return False
        return True

    def _write_rest(self) -> None:
        """Do what `_conclude` would do if its loop had not ended. Runs in the thread.

        Only the loop may add to the gathering batch or replace it. So the thread takes it only
        when that loop has ended.
        """
        rest = self._gathering
        if rest is None:
            return
        try:
            rest.waiters.call_from_thread(self._flush)
        except RuntimeError:
            # The appended events are written anyway. The next loop finds the batch settled.
            self._write(rest)

    def _conclude(self, batch: CommitBatch) -> None:
        """Wake all tasks that wait for the batch, and write the next one. Runs in the loop."""
        if self._flushing is batch:
            self._flushing = None
        batch.waiters.wake()
        if self._gathering is not None:
            batch.waiters.call_soon(self._flush)


def _why_not_opened(error: OSError, directory: Path) -> str:
    """Return the error of the system, with the file if it is not the directory itself."""
    if error.filename is None:
        return error.strerror or "input/output error"
    if Path(error.filename) != directory:
        return f"{error.strerror} (`{error.filename}`)"
    return "it is not a directory" if isinstance(error, FileExistsError) else str(error.strerror)
