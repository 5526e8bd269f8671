"""One pool for each set of real modules that is in use; the empty set is the ordinary one.

A worker can only hold modules that its zygote loaded before it was confined, so each set has its
own zygote and its own stock. Both are started when the set is first requested. Only a few sets are
kept: to add one, the least recently used idle one is closed; if all are in use, the caller waits,
for a bounded time.
The limit on the number of workers applies to all pools together.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
from anyio.abc import TaskGroup, TaskStatus

from caps.protocol.errors import WorkerLostError
from caps.worker.host.pool.admission import Admission, WaitReason
from caps.worker.host.pool.observer import PoolObserver
from caps.worker.host.pool.pool import WorkerPool
from caps.worker.host.process.worker import WorkerSource

MAX_MODULE_SETS = 8

Modules = tuple[str, ...]


class _PoolEntry:
    """The pool of one set, and how many users it has."""

    def __init__(self, pool: WorkerPool) -> None:
        self.pool = pool
        self.users = 0
        self.close_wanted = anyio.Event()
        self.closed = anyio.Event()


class PoolsByModules:
    """Chooses the pool by the modules that the code is granted."""

    def __init__(
        self,
        source: WorkerSource,
        max_workers: int | Admission,
        on_alive: Callable[[int], None],
        observer: PoolObserver | None = None,
    ) -> None:
        """The pool of the empty set uses `source`; the others use `source.with_modules`."""
        self._source = source
        self._admission = (
            Admission(max_workers, per_owner=max_workers, observer=observer)
            if isinstance(max_workers, int)
            else max_workers
        )
        self._on_alive = on_alive
        self._observer = observer
        # The most recently used entry is the last one.
        self._entries: dict[Modules, _PoolEntry] = {}
        # These, and the entries that are being started or closed.
        self._running: set[_PoolEntry] = set()
        self._starting = anyio.Lock()
        self._changed = anyio.Event()
        self._tasks: TaskGroup | None = None

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Be ready to start pools; on exit all workers of all pools are killed."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            try:
                yield
            finally:
                self._tasks = None
                # Not cancelled: that would end a zygote before its pool knows the reason.
                for entry in self._running:
                    entry.close_wanted.set()
                self._changed.set()

    @asynccontextmanager
    async def using(self, modules: Modules) -> AsyncIterator[WorkerPool]:
        """The pool of this set, started if needed; it is not closed while it is in use.

        Raises the errors of `WorkerSource.open`, and NoFreeWorkerError.
        """
        entry = await self._acquire(modules)
        try:
            yield entry.pool
        finally:
            entry.users -= 1
            self._mark_used(modules)
            self._changed.set()

    async def _acquire(self, modules: Modules) -> _PoolEntry:
        if modules not in self._entries:
            # One at a time, so that no two callers start the same pool.
            await self._admission.wait(WaitReason.MODULES, self._starting.acquire)
            try:
                if modules not in self._entries:
                    await self._admission.wait(WaitReason.MODULES, self._make_room)
                    self._entries[modules] = await self._start(modules)
            finally:
                self._starting.release()
        entry = self._mark_used(modules)
        entry.users += 1
        return entry

    def _mark_used(self, modules: Modules) -> _PoolEntry:
        entry = self._entries[modules] = self._entries.pop(modules)
        return entry

    async def _start(self, modules: Modules) -> _PoolEntry:
        if self._tasks is not None:
            entry = await self._tasks.start(self._run_pool, modules)
            assert isinstance(entry, _PoolEntry)
            if self._tasks is not None:
                return entry
        raise WorkerLostError("the runtime was closed before its code ran", started=False)

    async def _run_pool(self, modules: Modules, *, task_status: TaskStatus[_PoolEntry]) -> None:
        """Open a pool, and close it when that is wanted. Runs in a task of its own."""
        source = self._source.with_modules(modules) if modules else self._source
        entry = _PoolEntry(WorkerPool(source, self._admission, self._on_alive, self._observer))
        self._running.add(entry)
        try:
            async with entry.pool.open():
                task_status.started(entry)
                await entry.close_wanted.wait()
        finally:
            self._running.discard(entry)
            entry.closed.set()

    async def _make_room(self) -> None:
        while len(self._entries) >= MAX_MODULE_SETS and self._tasks is not None:
            idle = next(
                (modules for modules, entry in self._entries.items() if not entry.users), None
            )
            if idle is None:
                self._changed = anyio.Event()
                await self._changed.wait()
                continue
            entry = self._entries.pop(idle)
            entry.close_wanted.set()
            await entry.closed.wait()
