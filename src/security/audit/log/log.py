"""(8) The audit log: `append` returns when the evidence is safe, or raises and nothing may happen.

Group commit. Events that come while a batch is being written gather for the next one; a thread
writes it in one go, and all who wait for it are woken together. So a hundred calls at once cost a
few syncs.

Cancellation: an event that was handed in is written even if the task that waits for it is
cancelled, and even if the whole event loop ends meanwhile. Whoever was cancelled must not perform
the effect; evidence of a call that never happened is harmless, the reverse is not.

With `Durability.SYNC` commits run in the thread. With `Durability.OS` a commit is a write to the
page cache and runs inline, without giving up the loop, unless another process holds the lock, a
checkpoint or a new file (hence a sync) is due, or a required sink is to be waited for.
"""

from __future__ import annotations

import functools
import secrets
from collections.abc import Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from caps.protocol.errors import AuditError
from caps.security.audit.attempt import Attempt
from caps.security.audit.log.batch import Batch
from caps.security.audit.model.sanitize import storable
from caps.security.audit.model.chain import Head
from caps.security.audit.signing.finish_rotation import rotate_key
from caps.security.audit.files.key_files import redaction_key, sync_directory
from caps.security.audit.files.lock import DEFAULT_LOCK_SECONDS
from caps.security.audit.log.open_checks import host_software, refuse_lost_records
from caps.security.audit.signing.checkpoint_writer import Notary
from caps.security.audit.model.records import AuditEvent, KeyRotated, LogOpened, timestamp
from caps.security.audit.model.redaction import Redactor
from caps.security.audit.log.rotation import NEVER, Rotation
from caps.security.audit.log.segment import Durability, Segment
from caps.security.audit.log.settings import (
    DEFAULT_CHECKPOINT_EVERY,
    AuditSettings,
    log_places,
    refuse_foreign_settings,
)
from caps.security.audit.log.maintenance import Upkeep
from caps.security.audit.log.writer import Writer

if TYPE_CHECKING:
    from caps.security.audit.sinks.urls import SinkAddress
    from caps.security.audit.sinks.interface import SinkObserver


class AuditLog:
    """A log directory. Used from one event loop at a time; many processes may share it."""

    def __init__(
        self,
        directory: Path,
        segment: Segment,
        writer: Writer,
        redactor: Redactor,
        *,
        inline: bool,
        upkeep: Upkeep | None,
        places: tuple[Path, ...],
    ) -> None:
        self.redactor = redactor
        self.places = places
        """Every file or directory that holds what was recorded."""
        self._directory = directory
        self._segment = segment
        self._writer = writer
        self._upkeep = upkeep
        self._inline = inline
        self._gathering: Batch | None = None
        self._flushing: Batch | None = None
        # A thread of its own: busy providers must not keep evidence waiting.
        self._thread = ThreadPoolExecutor(1, "audit log")
        self._closed = False
        # What was committed inline last, or was about to be. Only the loop's.
        self._attempt: Attempt | None = None

    @classmethod
    def open(
        cls,
        directory: Path,
        *,
        durability: Durability = Durability.SYNC,
        checkpoint_every: int = DEFAULT_CHECKPOINT_EVERY,
        checkpoint_seconds: float | None = None,
        checkpoints_to: Path | None = None,
        lock_seconds: float = DEFAULT_LOCK_SECONDS,
        rotation: Rotation = NEVER,
        compress: bool = False,
        sinks: Sequence[SinkAddress] = (),
        observer: SinkObserver | None = None,
    ) -> AuditLog:
        """Opens a log directory, or makes it with its keys and first record.

        Another process that writes the log is waited for, here and later, for `lock_seconds`.
        Checkpoints go to the directory `checkpoints_to`, too; `observer` hears of the `sinks`.
        Raises `AuditError`: it cannot be made, its end is not sound, or its records are gone;
        `ConfigurationError`: a sink cannot be, or an argument is none of its kind.
        """
        refuse_foreign_settings(
            directory=directory,
            durability=durability,
            checkpoint_every=checkpoint_every,
            checkpoint_seconds=checkpoint_seconds,
            checkpoints_to=checkpoints_to,
            lock_seconds=lock_seconds,
            rotation=rotation,
            compress=compress,
            sinks=sinks,
            observer=observer,
        )
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            refuse_lost_records(directory)
            redactor = Redactor(redaction_key(directory))
            notary = Notary(directory, checkpoints_to)
            segment = Segment(
                directory,
                opening=LogOpened(writer=secrets.token_hex(16), host_software=host_software()),
                durability=durability,
                notary=notary,
                checkpoint_every=checkpoint_every,
                lock_seconds=lock_seconds,
                rotation=rotation,
            )
            sync_directory(directory)
            writer = Writer(segment)
            notary.on_checkpoint = writer.offer_checkpoint
            if sinks:
                _start_feeds(sinks, directory, writer, segment, observer)
        except OSError as error:
            reason = _why_not_opened(error, directory)
            raise AuditError(f"cannot open audit log `{directory}`: {reason}") from error
        upkeep = None
        if checkpoint_seconds is not None or compress:
            upkeep = Upkeep(
                directory, writer, segment, checkpoint_seconds=checkpoint_seconds, compress=compress
            )
            upkeep.start()
        inline = durability is Durability.OS and not writer.waits
        places = log_places(directory, checkpoints_to, sinks)
        return cls(
            directory, segment, writer, redactor, inline=inline, upkeep=upkeep, places=places
        )

    @classmethod
    def opened_by(cls, settings: AuditSettings, observer: SinkObserver | None = None) -> AuditLog:
        """`open` with everything that the settings say."""
        return cls.open(
            settings.directory,
            durability=settings.durability,
            checkpoint_every=settings.checkpoint_every,
            checkpoint_seconds=settings.checkpoint_seconds,
            checkpoints_to=settings.checkpoints_to,
            rotation=settings.rotation,
            compress=settings.compress,
            sinks=settings.sinks,
            observer=observer,
        )

    @property
    def head(self) -> Head:
        """The last record that this process committed or met."""
        return self._segment.head

    def append(self, event: AuditEvent) -> Coroutine[Any, Any, None]:
        """Commits one event; see `AuditSink.append`."""
        return self.append_all((event,))

    def append_now(self, events: Sequence[AuditEvent]) -> bool:
        """`append_all` in this very step; False, and nothing is done, if that has to wait."""
        if self._closed:
            raise AuditError("the audit log is closed")
        idle = self._gathering is None and self._flushing is None
        return self._inline and idle and self._commit_inline(events, timestamp())

    def took(self, events: Sequence[AuditEvent]) -> bool:
        """Whether `append_now` of these very events, which an interrupt ended, had written them.

        For whoever is interrupted, at once: the next append makes it forgotten.
        """
        attempt = self._attempt
        return attempt is not None and attempt.events is events and self._segment.has(attempt)

    async def append_all(self, events: Sequence[AuditEvent]) -> None:
        """Commits events one after the other in one piece, all or none; as `append` otherwise."""
        if self._closed:
            raise AuditError("the audit log is closed")
        now = timestamp()
        batch = self._gathering
        if batch is None or not batch.waiters.are_here():
            if batch is not None:  # of a loop that is over, and will not see to it
                self._hand_in(batch)
            elif self._inline and self._flushing is None and self._commit_inline(events, now):
                return
            batch = self._begun()
        place = len(batch.appends)
        batch.appends.append((tuple(events), now))
        await batch.waiters.wait()
        batch.outcome(place)

    def _begun(self) -> Batch:
        """Another batch that gathers, and that will be written."""
        batch = Batch()
        # Who was woken together with this task has something to write in the same turn, and joins:
        # without it every second batch would be of one event, and cost a sync. Before anybody can
        # join: an interrupt in between leaves nobody waiting for ever.
        batch.waiters.soon(self._flush)
        self._gathering = batch
        return batch

    async def aclose(self) -> None:
        """Waits for what was handed in, signs the head, closes the file. May be repeated."""
        if self._closed:
            return
        self._closed = True
        with anyio.CancelScope(shield=True):
            while batch := self._gathering or self._being_written:
                if not batch.waiters.are_here():
                    break  # nobody is left to be told of it; `close` sees to it
                await batch.waiters.wait()
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
        """Makes another key the one that signs. Blocking; raises `AuditError`."""
        return self._writer.exclusively(lambda: rotate_key(self._segment, self._directory))

    def close(self) -> None:
        """`aclose` for programs without an event loop, once nobody appends any more."""
        self._closed = True
        self._thread.shutdown()
        rest, self._gathering = self._gathering, None
        if rest is not None:
            self._settle(rest)
        try:
            if self._upkeep is not None:
                self._upkeep.close()
        finally:
            self._writer.close()

    def _commit_inline(self, events: Sequence[AuditEvent], now: str) -> bool:
        """True when committed; False when it would have to wait, which only a thread may."""
        if self._segment.slow_commit_due(len(events)):
            return False
        entries = [(storable(event), now) for event in events]
        attempt = self._attempt = Attempt(events)
        try:
            self._writer.commit(entries, wait=False, attempt=attempt)
        except BlockingIOError:
            return False
        return True

    @property
    def _being_written(self) -> Batch | None:
        """What the thread is at; a batch that is settled has only to be told of."""
        batch = self._flushing
        return None if batch is None or batch.settled else batch

    def _flush(self) -> None:
        """Hands what has gathered to the thread, unless it is busy. Runs in the loop."""
        batch = self._gathering
        if batch is not None and self._being_written is None:
            self._gathering = None
            self._hand_in(batch)

    def _hand_in(self, batch: Batch) -> None:
        """Has the thread commit the batch, after what it was handed before. Runs in the loop."""
        self._flushing = batch
        try:
            # Asked here, too: a forked child has no thread that would say so.
            self._segment.refuse_unusable()
            self._thread.submit(self._settle, batch)
        except Exception as error:  # noqa: BLE001 - `outcome` raises it, for all who wait
            if not batch.settled:
                batch.fail(error)
            self._tell(batch)

    def _settle(self, batch: Batch) -> None:
        """Commits the batch, and tells those who wait for it. Runs in the thread."""
        if batch.settled:
            # The thread could not be started at first, and they were told; or their loop is over,
            # and it was found twice.
            return
        batch.commit(lambda entries: self._writer.confirm(self._writer.commit(entries)))
        if not self._tell(batch):
            self._settle_rest()

    def _tell(self, batch: Batch) -> bool:
        """Has the loop of the batch `_conclude` it; False if that is over, and nobody waits."""
        try:
            batch.waiters.from_thread(functools.partial(self._conclude, batch))
        except RuntimeError:
            return False
        return True

    def _settle_rest(self) -> None:
        """Goes on as `_conclude` would, had its loop not ended. Runs in the thread.

        What gathers is the loop's alone to add to and to replace, so it is taken only by the loop,
        or when that is over.
        """
        rest = self._gathering
        if rest is None:
            return
        try:
            rest.waiters.from_thread(self._flush)
        except RuntimeError:
            # What was handed in is written all the same. The next loop finds it settled.
            self._settle(rest)

    def _conclude(self, batch: Batch) -> None:
        """Wakes all who wait for the batch, and has the next one written. Runs in the loop."""
        if self._flushing is batch:
            self._flushing = None
        batch.waiters.wake()
        if self._gathering is not None:
            batch.waiters.soon(self._flush)


def _why_not_opened(error: OSError, directory: Path) -> str:
    """What the system says, and about which file if it is not the directory itself."""
    if error.filename is None:
        return error.strerror or "input/output error"
    if Path(error.filename) != directory:
        return f"{error.strerror} (`{error.filename}`)"
    return "it is not a directory" if isinstance(error, FileExistsError) else str(error.strerror)


def _start_feeds(
    sinks: Sequence[SinkAddress],
    directory: Path,
    writer: Writer,
    segment: Segment,
    observer: SinkObserver | None,
) -> None:
    from caps.security.audit.log.feeds import make_feeds

    newest = segment.head.seq - len(segment.opening_lines)
    try:
        writer.start(make_feeds(sinks, directory, writer, newest=newest, observer=observer))
    except BaseException:
        segment.close()
        raise
