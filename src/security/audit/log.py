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
cache and runs inline, without giving up the loop, unless another process holds the lock or a
checkpoint (hence a sync) is due.
"""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final, Protocol

import anyio
import anyio.lowlevel
import anyio.to_thread

from caps.protocol.errors import AuditError
from caps.security.audit.bounds import storable
from caps.security.audit.chain import Head
from caps.security.audit.checkpoint import CHECKPOINTS, Signer
from caps.security.audit.keyfiles import redaction_key, sync_directory
from caps.security.audit.reader import FIRST_SEGMENT
from caps.security.audit.records import AuditEvent, LogOpened, timestamp
from caps.security.audit.redaction import Redactor
from caps.security.audit.segment import DEFAULT_LOCK_SECONDS, Durability, Entry, Segment

DEFAULT_CHECKPOINT_EVERY: Final = 1000


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


@dataclass(slots=True, eq=False)
class _Batch:
    """Events that are committed together; failed until proven committed.

    `mutex` guards `settled`, `committed` and `error`.
    """

    entries: list[Entry]
    settled: bool = False
    committed: bool = False
    error: Exception | None = None
    mutex: threading.Lock = field(default_factory=threading.Lock)
    _done: anyio.Event | None = None

    async def wait(self) -> None:
        if self._done is None:
            self._done = anyio.Event()
        await self._done.wait()

    def wake(self) -> None:
        if self._done is not None:
            self._done.set()

    def outcome(self) -> None:
        if self.committed:
            return
        # Each waiter raises its own: tracebacks grow on the exception that is raised.
        if isinstance(self.error, AuditError):
            raise AuditError(self.error.message) from self.error
        raise AuditError("the audit log failed to write, for no reason of the disk") from self.error


class AuditLog:
    """A log directory. Used from one event loop; many processes may share the directory."""

    def __init__(self, segment: Segment, redactor: Redactor, *, inline: bool) -> None:
        self.redactor = redactor
        self._segment = segment
        self._inline = inline
        self._gathering: _Batch | None = None
        self._flushing: _Batch | None = None
        self._closed = False

    @classmethod
    def open(
        cls,
        directory: Path,
        *,
        durability: Durability = Durability.SYNC,
        checkpoint_every: int = DEFAULT_CHECKPOINT_EVERY,
        lock_seconds: float = DEFAULT_LOCK_SECONDS,
    ) -> AuditLog:
        """Opens a log directory, or makes it with its keys and first record.

        Another process that writes the log is waited for, here and later, for `lock_seconds`.
        Raises `AuditError`: it cannot be made, its end is not sound, or its records are gone.
        """
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            _refuse_lost_records(directory)
            redactor = Redactor(redaction_key(directory))
            segment = Segment(
                directory / FIRST_SEGMENT,
                opening=LogOpened(writer=secrets.token_hex(16), host_software=_host_software()),
                durability=durability,
                signer=Signer.load(directory),
                checkpoint_every=checkpoint_every,
                lock_seconds=lock_seconds,
            )
            sync_directory(directory)
        except OSError as error:
            raise AuditError(f"cannot open audit log `{directory}`: {error.strerror}") from error
        return cls(segment, redactor, inline=durability is Durability.OS)

    @property
    def head(self) -> Head:
        """The last record that this process committed or met."""
        return self._segment.head

    async def append(self, event: AuditEvent) -> None:
        """Commits one event; see `AuditSink.append`."""
        await self.append_all((event,))

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
            batch = self._gathering = _Batch(entries)
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
            try:
                await anyio.to_thread.run_sync(self._segment.pin, limiter=_own_thread())
            finally:
                self._segment.close()

    async def __aenter__(self) -> AuditLog:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    def _commit_inline(self, entries: Sequence[Entry]) -> bool:
        """True when committed; False when it would have to wait, which only a thread may."""
        if self._segment.checkpoint_due_within(len(entries)):
            return False
        try:
            self._segment.commit(entries, wait=False)
        except BlockingIOError:
            return False
        return True

    async def _lead(self, batch: _Batch) -> None:
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

    def _release(self, batch: _Batch) -> None:
        if self._gathering is batch:
            self._gathering = None
        if self._flushing is batch:
            self._flushing = None
        batch.wake()

    async def _advance(self, batch: _Batch) -> None:
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

    def _settle(self, batch: _Batch) -> None:
        """Commits the batch once. Runs in a thread; after an interruption perhaps in two."""
        with batch.mutex:
            if batch.settled:
                return
            try:
                self._segment.commit(batch.entries)
                batch.committed = True
            except AuditError as error:
                batch.error = error
            finally:
                batch.settled = True


def default_audit_directory() -> Path:
    """`CAPS_AUDIT_PATH`, else `caps/audit` in the user's state directory (XDG)."""
    if configured := os.environ.get("CAPS_AUDIT_PATH"):
        return Path(configured)
    state = os.environ.get("XDG_STATE_HOME", "")
    base = Path(state) if Path(state).is_absolute() else Path.home() / ".local" / "state"
    return base / "caps" / "audit"


def _own_thread() -> anyio.CapacityLimiter:
    return anyio.CapacityLimiter(1)


def _refuse_lost_records(directory: Path) -> None:
    """A log that has checkpoints and no records was robbed; a new chain would cover that up."""
    checkpoints, segment = directory / CHECKPOINTS, directory / FIRST_SEGMENT
    if not checkpoints.exists() or checkpoints.stat().st_size == 0:
        return
    if not segment.exists() or segment.stat().st_size == 0:
        raise AuditError(f"`{segment}` is gone but `{CHECKPOINTS}` is not; verify the log")


def _host_software() -> str:
    import platform
    from importlib.metadata import PackageNotFoundError, version

    try:
        release = version("caps-runtime")
    except PackageNotFoundError:
        release = "unknown"
    return f"caps-runtime/{release} python/{platform.python_version()}"
