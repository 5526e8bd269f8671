"""The source of workers: a zygote that is restarted when it has ended.

Workers with real modules come from another source, with a zygote of its own.

A restarted zygote must be confined by the same layers as the first one: the check that was made
when the source was opened stays valid until it is closed.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
from anyio.abc import TaskGroup

from caps.protocol.enforcement import Enforcement, Layer
from caps.protocol.errors import ConfigurationError, WorkerLostError
from caps.worker.host.memory.limiter import MemoryLimiter
from caps.worker.host.memory.prepared_group import PreparedGroup
from caps.worker.host.zygote.forked_worker import ForkedWorker
from caps.worker.host.zygote.launch import Launched, launch
from caps.worker.host.zygote.process import ZygoteProcess, no_worker_error

__all__ = ["ForkedWorker", "ZygoteSource"]

_START_SECONDS = 30


class ZygoteSource:
    """Workers forked by a zygote, which is restarted if it ends."""

    def __init__(
        self,
        *,
        arguments: tuple[str, ...] = (),
        launched: Launched | None = None,
        on_start: Callable[[bool], None] | None = None,
    ) -> None:
        """The first zygote is the one that was `launched` in advance, if there is one.

        `on_start` is called for each zygote, with whether it replaces one that has ended.
        """
        self._arguments = arguments
        self._launched = launched
        self._on_start = on_start
        self._zygote: ZygoteProcess | None = None
        self._checked: ZygoteProcess | None = None  # it is ready, and its layers are the same
        self._layers: tuple[Layer, ...] = ()
        self._reported: tuple[Layer, ...] = ()
        self._memory = MemoryLimiter()
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
        """Also raises ConfigurationError, if CAPS_CGROUP names a group that is unusable."""
        self._memory = MemoryLimiter()
        async with self._memory.open(), self._open_zygote():
            yield

    @asynccontextmanager
    async def _open_zygote(self) -> AsyncIterator[None]:
        failure: ConfigurationError | WorkerLostError | None = None
        self._layers = ()
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            tasks.start_soon(self._memory.keep_removing)
            tasks.start_soon(self._memory.keep_prepared)
            try:
                await self._live_zygote()
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
        zygote = await self._live_zygote()
        try:
            return await self._start_from(zygote)
        except WorkerLostError:
            if zygote.is_alive:
                raise
        # The zygote had ended before and that was not noticed yet, or it has ended now. No code
        # ran, so nothing is done twice.
        return await self._start_from(await self._live_zygote())

    async def _start_from(self, zygote: ZygoteProcess) -> ForkedWorker:
        if zygote.group_refused:
            self._memory.entry_refused()
        prepared = await self._memory.prepare()
        if prepared is not None:
            return await self._start_within(zygote, prepared)
        worker = await zygote.fork()
        # Not to be cancelled: the worker exists, and only this task has a reference to it.
        with anyio.CancelScope(shield=True):
            await self._memory.move_in(worker)
        return worker

    async def _start_within(self, zygote: ZygoteProcess, prepared: PreparedGroup) -> ForkedWorker:
        try:
            worker = await zygote.fork(entry_fd=prepared.entry_fd)
        except BaseException:
            self._memory.give_back(prepared)
            raise
        self._memory.enter(worker, prepared)
        return worker

    async def _live_zygote(self) -> ZygoteProcess:
        known = self._checked
        if known is not None and known.is_alive and self._tasks is not None:
            return known
        async with self._starting:
            if self._tasks is None:
                raise no_worker_error("no workers are started any more")
            if self._zygote is None or not self._zygote.is_alive:
                is_restart = bool(self._layers)  # those of the first since this source was opened
                self._zygote = self._start_zygote(self._tasks)
                if self._on_start is not None:
                    self._on_start(is_restart)
                await self._memory.move_in_zygote(self._zygote.pid)
            zygote = self._zygote
            # Also for one that is not new: the task that started it may have been cancelled here.
            with anyio.move_on_after(_START_SECONDS):
                await zygote.ready.wait()
            if not zygote.layers:
                zygote.end()
                raise _start_error(zygote)
            self._check_layers(zygote)
            self._checked = zygote
            return zygote

    def _start_zygote(self, tasks: TaskGroup) -> ZygoteProcess:
        try:
            prelaunched = self._launched.take() if self._launched is not None else None
            zygote = ZygoteProcess(prelaunched or launch(self._arguments))
        except OSError as error:
            raise WorkerLostError(
                f"the zygote cannot be started: {error.strerror}", started=False
            ) from None
        tasks.start_soon(zygote.read)
        return zygote

    def _check_layers(self, zygote: ZygoteProcess) -> None:
        """Every later zygote must have the layers that were checked when this source was opened."""
        self._layers = self._layers or zygote.layers
        if _enforcement_by_name(zygote.layers) != _enforcement_by_name(self._layers):
            zygote.end()
            raise WorkerLostError(
                "the zygote was started again and other layers hold it than before; open again",
                started=False,
            )


def _start_error(zygote: ZygoteProcess) -> WorkerLostError:
    refused = zygote.refused
    if refused is None:
        return WorkerLostError("the zygote did not start; the log says why", started=False)
    message = f"module `{refused.module}` {refused.reason}"
    return WorkerLostError(message, started=False, module=refused.module)


def _enforcement_by_name(layers: tuple[Layer, ...]) -> dict[str, Enforcement]:
    return {layer.name: layer.enforcement for layer in layers}
