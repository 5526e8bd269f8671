"""(8) The audit log: `append` returns when the evidence is safe, or raises and nothing may happen.

Group commit, leader and followers. The first event of a batch makes its task the leader; events
that come while the batch before is being written join and wait. The leader writes them all in one
go and wakes them, while the next batch gathers behind it. So a hundred calls at once cost a few
syncs.

Cancellation: an event that was handed in is written even if the task that waits for it is
cancelled. A leader finishes its batch first, also when asyncio's own `Task.cancel()` passes through
the shield. Whoever was cancelled must not perform the effect; evidence of a call that never
happened is harmless, the reverse is not.

With `Durability.SYNC` commits run in a thread. With `Durability.OS` a commit is a write to the page
cache and runs inline, without giving up the loop, unless another process holds the lock, a
checkpoint or a new file (hence a sync) is due, or a required sink is to be waited for.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

import anyio
import anyio.lowlevel
import anyio.to_thread

from caps.protocol.errors import AuditError
from caps.security.audit.batch import Batch
from caps.security.audit.bounds import storable
from caps.security.audit.chain import Head
from caps.security.audit.key_rotation import rotate_key
from caps.security.audit.keyfiles import redaction_key, sync_directory
from caps.security.audit.lock import DEFAULT_LOCK_SECONDS
from caps.security.audit.opening import host_software, refuse_lost_records
from caps.security.audit.pinning import Notary
from caps.security.audit.records import AuditEvent, KeyRotated, LogOpened, timestamp
from caps.security.audit.redaction import Redactor
from caps.security.audit.rotation import NEVER, Rotation
from caps.security.audit.segment import Durability, Entry, Segment
from caps.security.audit.settings import (
    DEFAULT_CHECKPOINT_EVERY,
    AuditSettings,
    default_audit_directory,
    log_places,
)
from caps.security.audit.upkeep import Upkeep
from caps.security.audit.writer import Writer

if TYPE_CHECKING:
    from caps.security.audit.sinks.addresses import SinkAddress
    from caps.security.audit.sinks.sink import SinkObserver

__all__ = ["AuditLog", "AuditSink", "default_audit_directory"]


class AuditSink(Protocol):
    """Where evidence goes. The broker needs no more than this."""

    @property
    def redactor(self) -> Redactor:
        """Makes the digests that this sink's records carry."""
        ...

    async def append(self, event: AuditEvent) -> None:
        """Returns when the record is safe.

        Raises `AuditError` if it is not; the caller then performs no effect.
        """
        ...

    async def aclose(self) -> None:
        """Ends the log; raises `AuditError` if its end could not be pinned."""
        ...


def all_at_once(sink: AuditSink) -> Callable[[Sequence[AuditEvent]], Awaitable[None]]:
    """How `sink` takes several events: it returns when all are safe, and raises if any is not."""

    async def one_by_one(events: Sequence[AuditEvent]) -> None:
        for event in events:
            await sink.append(event)

    together: Callable[[Sequence[AuditEvent]], Awaitable[None]]
    together = getattr(sink, "append_all", one_by_one)
    return together


def in_this_step(sink: AuditSink) -> Callable[[Sequence[AuditEvent]], bool]:
    """How `sink` takes several events without giving up the event loop: True when all are safe.

    False, and nothing is done, if that has to wait; what cannot say so always waits.
    """

    def waits(_events: Sequence[AuditEvent]) -> bool:
        return False

    now: Callable[[Sequence[AuditEvent]], bool] = getattr(sink, "append_now", waits)
    return now


class AuditLog:
    """A log directory. Used from one event loop; many processes may share the directory."""

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
        self._closed = False

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
        `ConfigurationError`: a sink cannot be.
        """
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
            raise AuditError(f"cannot open audit log `{directory}`: {error.strerror}") from error
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

    async def append(self, event: AuditEvent) -> None:
        """Commits one event; see `AuditSink.append`."""
        await self.append_all((event,))

    def append_now(self, events: Sequence[AuditEvent]) -> bool:
        """`append_all` in this very step; False, and nothing is done, if that has to wait."""
        if self._closed:
            raise AuditError("the audit log is closed")
        if not self._inline or self._gathering is not None or self._flushing is not None:
            return False
        now = timestamp()
        return self._commit_inline([(storable(event), now) for event in events])

    async def append_all(self, events: Sequence[AuditEvent]) -> None:
        """Commits events one after the other in one piece, all or none; as `append` otherwise."""
        if self._closed:
            raise AuditError("the audit log is closed")
        now = timestamp()
        entries = [(storable(event), now) for event in events]
        if self._gathering is not None:
            batch = self._gathering
            batch.entries += entries
            await batch.wait()
        else:
            if self._inline and self._flushing is None and self._commit_inline(entries):
                return
            batch = self._gathering = Batch(entries)
            await self._lead(batch)
        batch.outcome()

    async def aclose(self) -> None:
        """Waits for what was handed in, signs the head, closes the file. May be repeated."""
        if self._closed:
            return
        self._closed = True
        with anyio.CancelScope(shield=True):
            while (batch := self._gathering or self._flushing) is not None:
                await batch.wait()
            await anyio.to_thread.run_sync(self.close, limiter=_own_thread())

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
        try:
            if self._upkeep is not None:
                self._upkeep.close()
        finally:
            self._writer.close()

    def _commit_inline(self, entries: Sequence[Entry]) -> bool:
        """True when committed; False when it would have to wait, which only a thread may."""
        if self._segment.slow_commit_due(len(entries)):
            return False
        try:
            self._writer.commit(entries, wait=False)
        except BlockingIOError:
            return False
        return True

    async def _lead(self, batch: Batch) -> None:
        """Sees `batch` through to the end, whatever happens to this task meanwhile."""
        interrupted: BaseException | None = None
        try:
            with anyio.CancelScope(shield=True):
                while not batch.settled:
                    try:
                        await self._advance(batch)
                    except anyio.get_cancelled_exc_class() as error:
                        interrupted = error
        except Exception as error:  # noqa: BLE001 - `outcome` raises it, for all who wait
            batch.error = error
        finally:
            self._release(batch)
        if interrupted is not None:
            raise interrupted

    def _release(self, batch: Batch) -> None:
        if self._gathering is batch:
            self._gathering = None
        if self._flushing is batch:
            self._flushing = None
        batch.wake()

    async def _advance(self, batch: Batch) -> None:
        """One step of a leader; safe to repeat after an interruption."""
        if self._flushing is not None and self._flushing is not batch:
            await self._flushing.wait()
            return
        if self._flushing is None:
            # Who was woken together with this task has something to write in the same turn, and
            # joins: without it every second batch would be of one event, and cost a sync.
            await anyio.lowlevel.cancel_shielded_checkpoint()
            self._flushing, self._gathering = batch, None
        # A thread of its own: busy providers must not keep evidence waiting.
        await anyio.to_thread.run_sync(self._settle, batch, limiter=_own_thread())

    def _settle(self, batch: Batch) -> None:
        """Commits the batch once. Runs in a thread; after an interruption perhaps in two."""
        with batch.mutex:
            if batch.settled:
                return
            try:
                self._writer.confirm(self._writer.commit(batch.entries))
                batch.committed = True
            except AuditError as error:
                batch.error = error
            finally:
                batch.settled = True


def _own_thread() -> anyio.CapacityLimiter:
    return anyio.CapacityLimiter(1)


def _start_feeds(
    sinks: Sequence[SinkAddress],
    directory: Path,
    writer: Writer,
    segment: Segment,
    observer: SinkObserver | None,
) -> None:
    from caps.security.audit.sinks.making import make_feeds

    newest = segment.head.seq - len(segment.opening_lines)
    try:
        writer.start(make_feeds(sinks, directory, writer, newest=newest, observer=observer))
    except BaseException:
        segment.close()
        raise
