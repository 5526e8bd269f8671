"""The pool: a small stock of spare workers, and one of them for each execution or session.

A spare is forked, locked down and waiting before anybody needs it; handing it code is all that a
start takes. The stock refills in the background, grows when it was found empty and shrinks when it
is idle. A worker serves one execution, or one session, and dies, however that ends. Closing the
pool ends what runs.
"""

from __future__ import annotations

import logging
import signal
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
from anyio.abc import TaskGroup

from caps.protocol.connection import HostConnection
from caps.protocol.enforcement import Layer
from caps.protocol.errors import LimitExceededError, ProtocolError, WorkerLostError
from caps.protocol.messages import ResultMessage
from caps.worker.host.cpu_limit import cpu_limit_reached
from caps.worker.host.process import Ending, OutOfMemory, Worker, WorkerSource
from caps.worker.host.stock_watch import StockWatch, Unwatched
from caps.worker.host.supervisor import CallHandler, Execution, Job, OutputHandler, until_ready

logger = logging.getLogger(__name__)

_READY_SECONDS = 30
_REAP_SECONDS = 5
# Less than the kernel takes to end one that hung up and computes on: that would look like a limit.
_LAST_WORDS_SECONDS = 1.5
_RETRY_SECONDS = 1
_IDLE_SECONDS = 10
_FEWEST_SPARES = 2
_MOST_SPARES = 32


@dataclass(frozen=True, slots=True)
class Spare:
    """A worker that has locked itself in and waits for a manifest."""

    worker: Worker
    connection: HostConnection


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
        self._slots = anyio.Semaphore(max_workers) if isinstance(max_workers, int) else max_workers
        self._on_alive = on_alive
        self._watch = Unwatched() if watch is None else watch
        self._told = (0, 0)
        self._stock: deque[Spare] = deque()
        self._target = _FEWEST_SPARES
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
                    try:
                        yield
                    finally:
                        tasks.cancel_scope.cancel()
            finally:
                self._closed = True
                # Only now: until its task is over, the keeper may still add one.
                while self._stock:
                    await self._dispose(self._stock.pop().worker)
                self._target = 0
                self._tell_stock()

    async def run(self, job: Job, calls: CallHandler, on_output: OutputHandler) -> ResultMessage:
        """Run `job` to its end in a worker of its own, which is gone afterwards.

        Raises LimitExceededError, ProtocolError or WorkerLostError.
        """
        async with self._slots:
            try:
                return await self._run_in(await self._take(), job, calls, on_output)
            except WorkerLostError as lost:
                if lost.started or self._closed:
                    raise
                # Nothing ran, so nothing is done twice. It was a spare that had died, perhaps, and
                # not the only one: this time the worker is a new one.
                return await self._run_in(await self._prepare(), job, calls, on_output)

    async def borrow(self, *, fresh: bool = False) -> Spare:
        """A worker for several jobs of one caller; `end` it. ProtocolError or WorkerLostError.

        `fresh`: started now, as those in stock may have died.
        """
        await self._slots.acquire()
        try:
            return await (self._prepare() if fresh else self._take())
        except BaseException:
            self._slots.release()
            raise

    async def end(self, spare: Spare) -> None:
        """Kill a worker that was borrowed; its place is free again."""
        await self._dispose(spare.worker)
        self._slots.release()

    def keep(self, watch: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run `watch` beside what is borrowed; it is cancelled when the pool closes."""
        assert self._tasks is not None  # whoever borrows has opened the pool
        self._tasks.start_soon(watch)

    async def _run_in(
        self, spare: Spare, job: Job, calls: CallHandler, on_output: OutputHandler
    ) -> ResultMessage:
        execution = Execution(job, spare.worker, spare.connection, calls, on_output)
        try:
            return await self._outcome(execution, spare)
        finally:
            calls.end(execution.used(await self._dispose(spare.worker)))

    async def run_on(
        self, spare: Spare, job: Job, calls: CallHandler, on_output: OutputHandler
    ) -> ResultMessage:
        """Run `job` in a worker that is borrowed. What raises as `run` does leaves it useless."""
        execution = Execution(job, spare.worker, spare.connection, calls, on_output)
        try:
            return await self._outcome(execution, spare)
        finally:
            calls.end(execution.used_so_far())

    async def _outcome(self, execution: Execution, spare: Spare) -> ResultMessage:
        job = execution.job
        try:
            spare.worker.limit_memory(job.worker_limits.memory_mb)
            return await execution.run()
        except WorkerLostError as lost:
            if self._closed:
                raise _closed_pool(started=lost.started) from None
            raise await _explained(lost, spare.worker, job) from None
        except (LimitExceededError, ProtocolError) as error:
            error.details.setdefault("started", execution.started)
            if error.details.get("violation") == "truncated_frame":
                raise await _cut_short(error, spare.worker, job) from None
            raise

    async def _take(self) -> Spare:
        if self._closed:
            raise _closed_pool(started=False)
        while self._stock:
            spare = self._stock.popleft()
            self._tell_stock()
            self._wanted.set()
            if not spare.worker.is_over:
                return spare
            await self._dispose(spare.worker)
        self._target = min(2 * self._target, _MOST_SPARES)
        self._watch.stock_exhausted()
        self._tell_stock()
        self._wanted.set()
        return await self._prepare()

    async def _prepare(self) -> Spare:
        began = time.monotonic()
        worker = await self._source.start()
        self._on_alive(+1)
        connection = HostConnection()
        ready = False
        try:
            with anyio.move_on_after(_READY_SECONDS):
                await until_ready(worker.transport, connection)
                ready = True
        except WorkerLostError:
            ending = await _ending(worker)
            raise WorkerLostError(
                f"the worker was lost before it was ready ({ending or 'it closed its channel'})",
                started=False,
            ) from None
        finally:
            if not ready:
                await self._dispose(worker)
        if not ready:
            raise WorkerLostError(
                f"the worker was not ready after {_READY_SECONDS} seconds", started=False
            )
        self._watch.worker_started(time.monotonic() - began)
        return Spare(worker, connection)

    async def _dispose(self, worker: Worker) -> Ending:
        with anyio.CancelScope(shield=True):
            worker.kill()
            ending = await _reaped(worker)
            worker.transport.close()
            self._on_alive(-1)
        return ending

    def _tell_stock(self) -> None:
        now = (len(self._stock), self._target)
        self._watch.stock_changed(now[0] - self._told[0], now[1] - self._told[1])
        self._told = now

    async def _keep_stock(self) -> None:
        while True:
            self._tell_stock()
            if len(self._stock) < self._target:
                await self._add_one()
                continue
            self._wanted = anyio.Event()
            with anyio.move_on_after(_IDLE_SECONDS) as idle:
                await self._wanted.wait()
            if idle.cancelled_caught and self._target > _FEWEST_SPARES and self._stock:
                self._target -= 1
                await self._dispose(self._stock.pop().worker)

    async def _add_one(self) -> None:
        try:
            self._stock.append(await self._prepare())
        except (WorkerLostError, ProtocolError) as error:
            logger.warning("no spare worker: %s", error)
            await anyio.sleep(_RETRY_SECONDS)


async def _reaped(worker: Worker) -> Ending:
    """How the worker ended, which was killed: nobody waits for ever for a zygote to tell it."""
    with anyio.move_on_after(_REAP_SECONDS):
        return await worker.ended()
    logger.warning("the zygote did not reap a worker in %s seconds", _REAP_SECONDS)
    return Ending(exit_code=None, signal=signal.SIGKILL)


async def _explained(
    lost: WorkerLostError, worker: Worker, job: Job
) -> LimitExceededError | ProtocolError | WorkerLostError:
    """The error that says why the worker is gone."""
    ending = await _ending(worker)
    return lost if ending is None else _from_ending(lost, ending, job)


async def _cut_short(
    error: LimitExceededError | ProtocolError, worker: Worker, job: Job
) -> LimitExceededError | ProtocolError | WorkerLostError:
    """Half a frame is a lie, unless a signal ended the worker while it wrote."""
    ending = await _ending(worker)
    if ending is None or ending.signal is None:
        return error
    return _from_ending(WorkerLostError(error.message, started=True), ending, job)


async def _ending(worker: Worker) -> Ending | None:
    """How the worker ended, whose channel is closed: a moment lets it tell us."""
    with anyio.move_on_after(_LAST_WORDS_SECONDS):
        return await worker.ended()
    return None


def _closed_pool(*, started: bool) -> WorkerLostError:
    when = "while its code ran" if started else "before its code ran"
    return WorkerLostError(f"the runtime was closed {when}", started=started)


def _from_ending(
    lost: WorkerLostError, ending: Ending, job: Job
) -> LimitExceededError | ProtocolError | WorkerLostError:
    if ending.out_of_memory is OutOfMemory.OWN_LIMIT:
        most = job.worker_limits.memory_mb
        return LimitExceededError(
            f"the code used more than {most} MB of memory; raise `limits.memory_mb` if it may",
            limit="memory_mb",
            allowed=most,
            started=lost.started,
        )
    allowed = job.worker_limits.cpu_ms
    # A worker that blocks the first signal meets the second a second later.
    # In a session the processor time is that of all its cells, and says nothing of this one.
    used_up = ending.signal == signal.SIGKILL and ending.cpu_us > allowed * 1000 and not job.session
    if ending.signal == signal.SIGXCPU or used_up:
        return cpu_limit_reached(allowed, started=lost.started)
    if ending.signal == signal.SIGSYS:
        return ProtocolError(
            "the worker made a system call that is never legitimate, and the kernel killed it",
            violation="forbidden_system_call",
            started=lost.started,
        )
    when = "after its code had started" if lost.started else "before its code ran"
    return WorkerLostError(
        f"the worker was lost {when} ({ending})",
        started=lost.started,
        ending=str(ending),
    )
