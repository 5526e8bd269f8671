"""The pool: a small stock of spare workers, and one of them for each execution or session.

A spare is forked, locked down and waiting before anybody needs it; handing it code is all that a
start takes. The stock refills in the background, grows when it was found empty and shrinks when it
is idle. A worker serves one execution, or one session, and dies, however that ends: it is killed
before its result is handed out, and whoever gets the result need not wait until it is buried.
Closing the pool ends what runs.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import anyio
from anyio.abc import TaskGroup

from caps.protocol.connection import HostConnection
from caps.protocol.enforcement import Layer
from caps.protocol.errors import LimitExceededError, ProtocolError, WorkerLostError
from caps.protocol.messages import ResultMessage
from caps.worker.host.pool.program_cache import CompiledPrograms, ProgramKey
from caps.worker.host.pool.compile_queue import Compiler
from caps.worker.host.supervisor.exit_reasons import closed_pool, cut_short, ending_of, explained, reaped
from caps.worker.host.process.worker import Ending, Worker, WorkerSource
from caps.worker.host.pool.spare import NotReadyError, Readiness
from caps.worker.host.spare import Spare
from caps.worker.host.pool.observer import StockWatch, Unwatched
from caps.worker.host.supervisor.supervisor import AT_ONCE_SECONDS, CallHandler, Execution, Job, OutputHandler

__all__ = ["MOST_SPARES", "Spare", "WorkerPool"]

logger = logging.getLogger(__name__)

_READY_SECONDS = 30
_RETRY_SECONDS = 1
_IDLE_SECONDS = 10
_FEWEST_SPARES = 2
# Each holds about 3 MB, and under load most would be made in vain: one is forked as quickly.
MOST_SPARES = 8
_MOST_WAITS = 10


class WorkerPool:
    """Runs jobs, each in a worker of its own."""

    def __init__(
        self,
        source: WorkerSource,
        max_workers: int | anyio.Semaphore,
        on_alive: Callable[[int], None],
        watch: StockWatch | None = None,
    ) -> None:
        """`max_workers` at once; pools that are given the same semaphore share that number.

        `on_alive` is told +1 or -1 when a worker, spares included, begins or ends; `watch` hears
        of the stock.
        """
        self._source = source
        self._slots = (
            anyio.Semaphore(max_workers, fast_acquire=True)
            if isinstance(max_workers, int)
            else max_workers
        )
        self._on_alive = on_alive
        self._watch = Unwatched() if watch is None else watch
        self._told = (0, 0)
        self._stock: deque[Spare] = deque()
        self._dead: deque[Spare] = deque()
        self._died = anyio.Event()
        self._programs = CompiledPrograms()
        self._compiler = Compiler(self._programs, self._prepare, self._dispose)
        self._target = _FEWEST_SPARES
        self._awaited = 0
        self._was_full = False
        self._wanted = anyio.Event()
        self._tasks: TaskGroup | None = None
        self._closed = False

    @property
    def closed(self) -> bool:
        """Whether no worker is to be had any more."""
        return self._closed

    @property
    def layers(self) -> tuple[Layer, ...]:
        """Which layers hold the workers."""
        return self._source.layers

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Start filling the stock; on the way out every worker is gone. WorkerLostError."""
        async with self._source.open():
            try:
                async with anyio.create_task_group() as tasks:
                    self._tasks = tasks
                    tasks.start_soon(self._keep_stock)
                    tasks.start_soon(self._bury_the_dead)
                    tasks.start_soon(self._compiler.keep_compiling)
                    try:
                        yield
                    finally:
                        tasks.cancel_scope.cancel()
            finally:
                self._closed = True
                # Only now: until its task is over, the keeper may still add one.
                while self._stock:
                    await self._dispose(self._stock.pop().worker)
                while self._dead:
                    await self.end(self._dead.popleft())
                self._target = 0
                self._tell_stock()

    async def run(self, job: Job, calls: CallHandler, on_output: OutputHandler) -> ResultMessage:
        """Run `job` to its end in a worker of its own, which is gone afterwards.

        Raises LimitExceededError, ProtocolError or WorkerLostError.
        """
        try:
            return await self._run_in(await self._claim(), job, calls, on_output)
        except NotReadyError:
            raise
        except WorkerLostError as lost:
            if lost.started or self._closed:
                raise
        # Nothing ran, so nothing is done twice. It was a spare that had died, perhaps, and not the
        # only one: this time the worker is a new one.
        return await self._run_in(await self._claim(fresh=True), job, calls, on_output)

    async def borrow(self, *, fresh: bool = False) -> Spare:
        """A worker for several jobs of one caller; `end` it. ProtocolError or WorkerLostError.

        `fresh`: started now, as those in stock may have died.
        """
        spare = await self._claim(fresh=fresh)
        self._refill()
        return spare

    async def _claim(self, *, fresh: bool = False) -> Spare:
        """A worker; whoever has it says when there is time to `_refill` the stock."""
        await self._slots.acquire()
        try:
            return await (self._prepare() if fresh else self._take())
        except BaseException:
            self._slots.release()
            raise

    async def end(self, spare: Spare) -> None:
        """Kill a worker that was borrowed; its place is free again."""
        await self._end(spare)

    async def _end(self, spare: Spare) -> Ending:
        try:
            return await self._dispose(spare.worker)
        finally:
            self._slots.release()

    def keep(self, watch: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run `watch` beside what is borrowed; it is cancelled when the pool closes."""
        assert self._tasks is not None  # whoever borrows has opened the pool
        self._tasks.start_soon(watch)

    async def _run_in(
        self, spare: Spare, job: Job, calls: CallHandler, on_output: OutputHandler
    ) -> ResultMessage:
        program = self._program(spare, job)
        # The stock is refilled when it takes long, and when it is over: what is over at once would
        # share its processor with the one who refills.
        execution = Execution(
            job, spare.worker, spare.connection, calls, on_output, program, self._refill
        )
        try:
            message = await self._outcome(execution, spare)
        except BaseException:
            self._refill()
            calls.end(execution.used(await self._end(spare)))
            raise
        self._refill()
        if execution.used_at_result is None:  # only its end can tell
            calls.end(execution.used(await self._end(spare)))
        else:
            self._dead.append(spare)
            self._died.set()
            calls.end(execution.used_at_result)
        return message

    async def run_on(
        self, spare: Spare, job: Job, calls: CallHandler, on_output: OutputHandler
    ) -> ResultMessage:
        """Run `job` in a worker that is borrowed. What raises as `run` does leaves it useless."""
        program = self._program(spare, job)
        execution = Execution(job, spare.worker, spare.connection, calls, on_output, program)
        try:
            return await self._outcome(execution, spare)
        finally:
            calls.end(execution.used_so_far())

    def _program(self, spare: Spare, job: Job) -> bytes:
        """What the source compiles to, if that is known; it is found out for the next one."""
        key = ProgramKey(job.source, job.filename, spare.ready.language, spare.ready.python)
        program = self._programs.find(key)
        if not program and self._programs.is_wanted(key):
            self._compiler.order(key)
        return program

    async def _outcome(self, execution: Execution, spare: Spare) -> ResultMessage:
        job = execution.job
        try:
            spare.worker.limit_memory(job.worker_limits.memory_mb)
            return await execution.run()
        except WorkerLostError as lost:
            if self._closed:
                raise closed_pool(started=lost.started) from None
            raise await explained(lost, spare.worker, job) from None
        except (LimitExceededError, ProtocolError) as error:
            error.details.setdefault("started", execution.started)
            if error.details.get("violation") == "truncated_frame":
                raise await cut_short(error, spare.worker, job) from None
            raise

    async def _take(self) -> Spare:
        if self._closed:
            raise closed_pool(started=False)
        while self._stock:
            spare = self._stock.popleft()
            self._tell_stock()
            if not spare.worker.is_over:
                return spare
            self._refill()
            await self._dispose(spare.worker)
        self._watch.stock_exhausted()
        if self._was_full:  # not while the first ones are still being made
            self._target = min(2 * self._target, MOST_SPARES)
        self._tell_stock()
        self._refill()
        self._awaited += 1
        try:
            return await self._prepare()
        finally:
            self._awaited -= 1

    def _refill(self) -> None:
        """The stock may be short of a spare, and there is time to see to it."""
        self._wanted.set()

    async def _prepare(self) -> Spare:
        began = time.monotonic()
        worker = await self._source.start()
        self._on_alive(+1)
        connection = HostConnection()
        readiness = Readiness(worker, connection)
        ready = None
        try:
            ready = await readiness.awaited(_READY_SECONDS)
        except WorkerLostError:
            ending = await ending_of(worker)
            raise WorkerLostError(
                f"the worker was lost before it was ready ({ending or 'it closed its channel'})",
                started=False,
            ) from None
        finally:
            if ready is None:
                await self._dispose(worker)
        if ready is None:
            raise readiness.missed()
        self._watch.worker_started(time.monotonic() - began)
        return Spare(worker, connection, ready)

    async def _dispose(self, worker: Worker) -> Ending:
        with anyio.CancelScope(shield=True):
            worker.kill()
            try:
                ending = await reaped(worker)
            finally:  # no shield stops a cancellation of asyncio's own
                worker.transport.close()
                self._on_alive(-1)
        return ending

    async def _bury_the_dead(self) -> None:
        """Give the places of workers free that were killed when they gave their results."""
        while True:
            await self._died.wait()
            self._died = anyio.Event()
            while self._dead:
                await self.end(self._dead.popleft())

    def _tell_stock(self) -> None:
        now = (len(self._stock), self._target)
        self._watch.stock_changed(now[0] - self._told[0], now[1] - self._told[1])
        self._told = now

    async def _keep_stock(self) -> None:
        while True:
            self._tell_stock()
            if len(self._stock) < self._target:
                await self._until_calm()
                await self._add_one()
                continue
            self._was_full = True
            self._wanted = anyio.Event()
            if self._target <= _FEWEST_SPARES:
                await self._wanted.wait()
                continue
            with anyio.move_on_after(_IDLE_SECONDS) as idle:
                await self._wanted.wait()
            if idle.cancelled_caught and self._stock:
                self._target -= 1
                await self._dispose(self._stock.pop().worker)

    async def _until_calm(self) -> None:
        """Wait a moment, and while somebody waits for a worker that is being made; not for long.

        The moment also after an end: that is still to be recorded, and who runs one after another
        soon begins the next. Of those with two milliseconds between them, on two processors, each
        took a fifth longer without it.
        """
        for _ in range(_MOST_WAITS):
            await anyio.sleep(AT_ONCE_SECONDS)
            if not self._awaited:
                return

    async def _add_one(self) -> None:
        try:
            self._stock.append(await self._prepare())
        except (WorkerLostError, ProtocolError) as error:
            logger.warning("no spare worker: %s", error)
            await anyio.sleep(_RETRY_SECONDS)
