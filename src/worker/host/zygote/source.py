"""The source of workers: a zygote that is started again when it is gone.

One that holds real modules is another source, with a zygote of its own.

A zygote that takes the place of another must be held by the same layers: what was judged when the
source was opened stays true until it is closed.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
from anyio.abc import TaskGroup

from caps.protocol.enforcement import Enforcement, Layer
from caps.protocol.errors import ConfigurationError, WorkerLostError
from caps.worker.host.zygote.launch import Launched, launch
from caps.worker.host.memory.cgroup_stock import PreparedGroup
from caps.worker.host.memory.limiter import WorkerMemory
from caps.worker.host.zygote.process import ForkedWorker, ZygoteProcess, no_worker

__all__ = ["ForkedWorker", "ZygoteSource"]

_START_SECONDS = 30


class ZygoteSource:
    """Workers forked by a zygote, which is started again if it dies."""

    def __init__(
        self,
        *,
        arguments: tuple[str, ...] = (),
        launched: Launched | None = None,
        on_start: Callable[[bool], None] | None = None,
    ) -> None:
        """The first zygote is the one that was `launched` ahead, if there is one.

        `on_start` hears of each zygote, and whether it takes the place of one that is gone.
        """
        self._arguments = arguments
        self._launched = launched
        self._on_start = on_start
        self._zygote: ZygoteProcess | None = None
        self._compared: ZygoteProcess | None = None  # it was ready, and its layers are as before
        self._layers: tuple[Layer, ...] = ()
        self._reported: tuple[Layer, ...] = ()
        self._memory = WorkerMemory()
        self._starting = anyio.Lock()
        self._tasks: TaskGroup | None = None

    def with_modules(self, modules: tuple[str, ...]) -> ZygoteSource:
        loading = (f"--module={module}" for module in modules)
        return ZygoteSource(arguments=(*self._arguments, *loading), on_start=self._on_start)

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The same tuple until one of them changes."""
        if not self._layers:
            return ()
        memory = self._memory.layer
        if self._reported[:-1] != self._layers or self._reported[-1] is not memory:
            self._reported = (*self._layers, memory)
        return self._reported

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Also a ConfigurationError, if CAPS_CGROUP names what is of no use."""
        self._memory = WorkerMemory()
        async with self._memory.open(), self._open_zygote():
            yield

    @asynccontextmanager
    async def _open_zygote(self) -> AsyncIterator[None]:
        failure: ConfigurationError | WorkerLostError | None = None
        self._layers = ()
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            tasks.start_soon(self._memory.keep_tidy)
            tasks.start_soon(self._memory.keep_some_prepared)
            try:
                await self._living()
                yield
            except (ConfigurationError, WorkerLostError) as error:
                failure = error  # raised below, outside the group, which would wrap it
            finally:
                self._tasks = None
                if self._zygote is not None:
                    self._zygote.end()
                tasks.cancel_scope.cancel()
        if failure is not None:
            raise failure

    async def start(self) -> ForkedWorker:
        zygote = await self._living()
        try:
            return await self._start_from(zygote)
        except WorkerLostError:
            if zygote.is_alive:
                raise
        # It had died before, and nobody had told yet, or it has now: nothing is done twice.
        return await self._start_from(await self._living())

    async def _start_from(self, zygote: ZygoteProcess) -> ForkedWorker:
        if zygote.group_refused:
            self._memory.entrance_refused()
        prepared = await self._memory.prepare()
        if prepared is not None:
            return await self._start_within(zygote, prepared)
        worker = await zygote.fork()
        # Not to be cancelled: the worker is here, and nobody else knows of it yet.
        with anyio.CancelScope(shield=True):
            await self._memory.take_in(worker)
        return worker

    async def _start_within(self, zygote: ZygoteProcess, prepared: PreparedGroup) -> ForkedWorker:
        try:
            worker = await zygote.fork(entrance=prepared.entrance)
        except BaseException:
            self._memory.give_back(prepared)
            raise
        self._memory.enter(worker, prepared)
        return worker

    async def _living(self) -> ZygoteProcess:
        known = self._compared
        if known is not None and known.is_alive and self._tasks is not None:
            return known
        async with self._starting:
            if self._tasks is None:
                raise no_worker("no workers are started any more")
            if self._zygote is None or not self._zygote.is_alive:
                again = bool(self._layers)  # those of the first since this source was opened
                self._zygote = self._started(self._tasks)
                if self._on_start is not None:
                    self._on_start(again)
                await self._memory.take_in_zygote(self._zygote.pid)
            zygote = self._zygote
            # Also for one that is not new: whoever started it may have been cancelled here.
            with anyio.move_on_after(_START_SECONDS):
                await zygote.ready.wait()
            if not zygote.layers:
                zygote.end()
                raise _not_started(zygote)
            self._compare(zygote)
            self._compared = zygote
            return zygote

    def _started(self, tasks: TaskGroup) -> ZygoteProcess:
        try:
            ahead = self._launched.take() if self._launched is not None else None
            zygote = ZygoteProcess(ahead or launch(self._arguments))
        except OSError as error:
            raise WorkerLostError(
                f"the zygote cannot be started: {error.strerror}", started=False
            ) from None
        tasks.start_soon(zygote.read)
        return zygote

    def _compare(self, zygote: ZygoteProcess) -> None:
        """What was judged when this source was opened must hold for every later zygote."""
        self._layers = self._layers or zygote.layers
        if _enforced(zygote.layers) != _enforced(self._layers):
            zygote.end()
            raise WorkerLostError(
                "the zygote was started again and other layers hold it than before; open anew",
                started=False,
            )


def _not_started(zygote: ZygoteProcess) -> WorkerLostError:
    refused = zygote.refused
    if refused is None:
        return WorkerLostError("the zygote did not start; the log says why", started=False)
    message = f"module `{refused.module}` {refused.reason}"
    return WorkerLostError(message, started=False, module=refused.module)


def _enforced(layers: tuple[Layer, ...]) -> dict[str, Enforcement]:
    return {layer.name: layer.enforcement for layer in layers}
