"""One pool for each set of real modules that is in use; the empty set is the ordinary one.

A worker can only hold what its zygote loaded before it was confined, so each set has a zygote and a
stock of its own. Both are started when somebody first asks for the set. Few sets are kept: for one
more, the one that nobody has used for the longest time is closed, and if all are in use, whoever
asks waits. All pools together have as many workers as one may have.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
from anyio.abc import TaskGroup, TaskStatus

from caps.protocol.errors import WorkerLostError
from caps.worker.host.pool.pool import WorkerPool
from caps.worker.host.process.worker import WorkerSource
from caps.worker.host.pool.observer import StockWatch

MOST_SETS = 8

Modules = tuple[str, ...]


class _Kept:
    """The pool of one set, and how many are using it."""

    def __init__(self, pool: WorkerPool) -> None:
        self.pool = pool
        self.users = 0
        self.unwanted = anyio.Event()
        self.gone = anyio.Event()


class WorkerPools:
    """Chooses the pool by the modules that the code is granted."""

    def __init__(
        self,
        source: WorkerSource,
        max_workers: int,
        on_alive: Callable[[int], None],
        watch: StockWatch | None = None,
    ) -> None:
        """The pool of each set draws from `source`, as `source.with_modules` makes it."""
        self._source = source
        self._slots = anyio.Semaphore(max_workers, fast_acquire=True)
        self._on_alive = on_alive
        self._watch = watch
        # The one that was used last stands last.
        self._kept: dict[Modules, _Kept] = {}
        # These, and what is being started or closed.
        self._living: set[_Kept] = set()
        self._starting = anyio.Lock()
        self._changed = anyio.Event()
        self._tasks: TaskGroup | None = None

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Be ready to start pools; on the way out every worker of every pool is gone."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            try:
                yield
            finally:
                self._tasks = None
                # Not cancelled, which would end a zygote before its pool knows why.
                for kept in self._living:
                    kept.unwanted.set()
                self._changed.set()

    @asynccontextmanager
    async def using(self, modules: Modules) -> AsyncIterator[WorkerPool]:
        """The pool of this set, started if need be; it stays as long as it is in use.

        Raises as `WorkerSource.open` does.
        """
        kept = await self._claim(modules)
        try:
            yield kept.pool
        finally:
            kept.users -= 1
            self._moved_last(modules)
            self._changed.set()

    async def _claim(self, modules: Modules) -> _Kept:
        if modules not in self._kept:
            # One at a time: nobody is to start what another has almost started.
            async with self._starting:
                if modules not in self._kept:
                    await self._make_room()
                    self._kept[modules] = await self._started(modules)
        kept = self._moved_last(modules)
        kept.users += 1
        return kept

    def _moved_last(self, modules: Modules) -> _Kept:
        kept = self._kept[modules] = self._kept.pop(modules)
        return kept

    async def _started(self, modules: Modules) -> _Kept:
        if self._tasks is not None:
            kept = await self._tasks.start(self._keep, modules)
            assert isinstance(kept, _Kept)
            if self._tasks is not None:
                return kept
        raise WorkerLostError("the runtime was closed before its code ran", started=False)

    async def _keep(self, modules: Modules, *, task_status: TaskStatus[_Kept]) -> None:
        """A pool's whole life, in a task of its own."""
        source = self._source.with_modules(modules) if modules else self._source
        kept = _Kept(WorkerPool(source, self._slots, self._on_alive, self._watch))
        self._living.add(kept)
        try:
            async with kept.pool.open():
                task_status.started(kept)
                await kept.unwanted.wait()
        finally:
            self._living.discard(kept)
            kept.gone.set()

    async def _make_room(self) -> None:
        while len(self._kept) >= MOST_SETS and self._tasks is not None:
            idle = next((modules for modules, kept in self._kept.items() if not kept.users), None)
            if idle is None:
                self._changed = anyio.Event()
                await self._changed.wait()
                continue
            kept = self._kept.pop(idle)
            kept.unwanted.set()
            await kept.gone.wait()
