"""The pool: a small stock of spare workers, and one of them for each execution or session.

A spare is forked, confined and waiting before it is needed, so a start only has to send it the
code. The stock is refilled in the background, grows when it was found empty and shrinks when it is
idle. A worker serves one execution, or one session, and never another one. However the execution
ends, the worker is killed before its result is returned; the result is returned before the killed
worker is reaped. Closing the pool ends all running executions.
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import anyio
import msgspec
from anyio.abc import TaskGroup

from caps.protocol.connection import HostConnection
from caps.protocol.enforcement import Layer
from caps.protocol.errors import LimitExceededError, ProtocolError, WorkerLostError
from caps.protocol.messages import ResultMessage
from caps.worker.host.memory.give_back import map_large_blocks
from caps.worker.host.pool.admission import Admission, NoFreeWorkerError
from caps.worker.host.pool.compile_queue import CompileQueue
from caps.worker.host.pool.observer import NullPoolObserver, PoolObserver
from caps.worker.host.pool.program_cache import ProgramCache, ProgramKey
from caps.worker.host.pool.reaping import Reaping
from caps.worker.host.pool.spare import NotReadyError, ReadinessWait, Spare
from caps.worker.host.pool.stock import Stock
from caps.worker.host.process.worker import ExitStatus, Worker, WorkerSource
from caps.worker.host.supervisor.exit_reasons import (
    error_for_exit,
    error_for_truncated_frame,
    pool_closed_error,
    wait_exit_status,
    wait_reaped,
)
from caps.worker.host.supervisor.interface import CallHandler, Job, Manifest, OutputHandler
from caps.worker.host.supervisor.supervisor import SHORT_RUN_SECONDS, Supervisor

__all__ = ["MAX_SPARES", "Spare", "WorkerPool"]

logger = logging.getLogger(__name__)

_READY_SECONDS = 30
_RETRY_SECONDS = 1
_IDLE_SECONDS = 10
_MIN_SPARES = 2
# Each spare holds about 3 MB. Under load more spares would not help: a fork is as quick.
MAX_SPARES = 8
_MAX_BACKOFFS = 10

_Explained = WorkerLostError | LimitExceededError | ProtocolError
_EXPLAINED = (WorkerLostError, LimitExceededError, ProtocolError)


class WorkerPool:
    """Runs jobs, each in a worker of its own."""

    def __init__(
        self,
        source: WorkerSource,
        max_workers: int | Admission,
        on_alive: Callable[[int], None],
        observer: PoolObserver | None = None,
    ) -> None:
        """At most `max_workers` run concurrently; pools with the same admission share that number.

        `on_alive` is called with +1 or -1 when a worker, spares included, starts or ends;
        `observer` is notified of changes of the stock.
        """
        self._source = source
        self._admission = (
            Admission(max_workers, per_owner=max_workers, observer=observer)
            if isinstance(max_workers, int)
            else max_workers
        )
        self._on_alive = on_alive
        self._observer = NullPoolObserver() if observer is None else observer
        self._reported = (0, 0)
        self._stock = Stock()
        self._reaping = Reaping(self._finish, self._refill)
        self._programs = ProgramCache()
        self._compiler = CompileQueue(self._programs, self._prepare, self._dispose)
        self._target = _MIN_SPARES
        self._taken = 0
        self._waiting_callers = 0
        self._was_full = False
        # Whether the stock will be looked at again before `_maintain_stock` waits.
        self._is_refilling = False
        self._refill_wanted = anyio.Event()
        self._tasks: TaskGroup | None = None
        self._closed = False

    @property
    def closed(self) -> bool:
        """Whether the pool is closed and gives out no more workers."""
        return self._closed

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The layers that confine the workers."""
        return self._source.layers

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Start filling the stock; on exit all workers are killed. Raises WorkerLostError."""
        map_large_blocks()
        async with self._source.open():
            try:
                async with anyio.create_task_group() as tasks:
                    self._tasks = tasks
                    tasks.start_soon(self._maintain_stock)
                    tasks.start_soon(self._reaping.kill_used)
                    tasks.start_soon(self._reaping.watch)
                    tasks.start_soon(self._compiler.keep_compiling)
                    try:
                        yield
                    finally:
                        tasks.cancel_scope.cancel()
            finally:
                self._closed = True
                # Only now: until its task has ended, `_maintain_stock` may still add a spare.
                while self._stock:
                    await self._dispose(self._stock.pop().worker)
                while (spare := self._reaping.take_one()) is not None:
                    await self.end(spare)
                self._target = 0
                self._report_stock()

    async def run(self, job: Job, calls: CallHandler, on_output: OutputHandler) -> ResultMessage:
        """Run `job` to its end in a worker of its own, which is killed afterwards.

        Raises LimitExceededError, ProtocolError or WorkerLostError; NoFreeWorkerError if it had to
        wait too long for its turn.
        """
        try:
            manifest = Manifest.of(job)
            self._stock.note_use(manifest)
            spare = self._take_now(job.owner, manifest)
            spare = spare or await self._acquire(job.owner, manifest)
            return await self._run_in(spare, job, calls, on_output)
        except (NotReadyError, NoFreeWorkerError):
            raise
        except WorkerLostError as lost:
            if lost.started or self._closed:
                raise
        # No code ran, so nothing is done twice. Perhaps it was a spare that had exited, and other
        # spares may have exited too: the second attempt uses a new worker.
        spare = await self._acquire(job.owner, fresh=True)
        return await self._run_in(spare, job, calls, on_output)

    async def borrow(self, owner: str = "", *, fresh: bool = False) -> Spare:
        """A worker for several jobs of one caller, who has to `end` it.

        `fresh`: it is started now, because those in stock may have exited. Raises ProtocolError or
        WorkerLostError.
        """
        self._stock.note_use(None)
        spare = await self._acquire(owner, fresh=fresh)
        self._refill()
        return spare

    def _take_now(self, owner: str, manifest: Manifest) -> Spare | None:
        """A slot and a spare, if neither has to be waited for: most often."""
        spare = None if self._closed else self._stock.find(manifest)
        if spare is None or spare.worker.is_over or not self._admission.enter_now(owner):
            return None
        self._taken += 1
        self._stock.remove(spare)  # the metric has it until the refill, so it is set once
        return msgspec.structs.replace(spare, owner=owner)

    async def _acquire(
        self, owner: str, manifest: Manifest | None = None, *, fresh: bool = False
    ) -> Spare:
        """A slot and a worker. The caller decides when to `_refill` the stock."""
        await self._admission.enter(owner)
        try:
            spare = await (self._prepare() if fresh else self._take_spare(manifest))
        except BaseException:
            self._admission.leave(owner)
            raise
        return msgspec.structs.replace(spare, owner=owner)

    async def end(self, spare: Spare) -> None:
        """Kill a borrowed worker and free its slot."""
        await self._end(spare)

    async def _end(self, spare: Spare) -> ExitStatus:
        try:
            return await self._dispose(spare.worker)
        finally:
            self._admission.leave(spare.owner)

    def start_task(self, task: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run `task` in the background; it is cancelled when the pool closes."""
        assert self._tasks is not None  # a caller that borrows a worker has opened the pool
        self._tasks.start_soon(task)

    async def _run_in(
        self, spare: Spare, job: Job, calls: CallHandler, on_output: OutputHandler
    ) -> ResultMessage:
        program = self._find_program(spare, job)
        # The stock is refilled when the execution is slow, and when it has ended: a short execution
        # would otherwise compete with the refill for the processor.
        on_slow = None if self._is_refilling else self._refill
        execution = Supervisor(
            job, spare.worker, spare.connection, calls, on_output, program, on_slow
        )
        execution.killed_by_owner = True  # by `_reaping`, or by `_end` below
        try:
            spare.worker.limit_memory(job.worker_limits.memory_mb)
            try:
                message = await execution.run()
            except _EXPLAINED as error:
                await self._explain(error, execution)
                raise
        except BaseException:
            self._refill()
            calls.end(execution.used(await self._end(spare)))
            raise
        if execution.used_at_result is None:  # only the exit status can tell
            self._refill()
            calls.end(execution.used(await self._end(spare)))
        else:
            self._reaping.kill_soon(spare)  # and refill the stock then
            calls.end(execution.used_at_result)
        return message

    async def run_on(
        self, spare: Spare, job: Job, calls: CallHandler, on_output: OutputHandler
    ) -> ResultMessage:
        """Run `job` in a borrowed worker. After an error, raised as by `run`, it is unusable.

        The worker may be paused: it is resumed when it has the code, and so wakes up once.
        """
        program = self._find_program(spare, job)
        execution = Supervisor(job, spare.worker, spare.connection, calls, on_output, program)
        execution.on_sent = spare.worker.resume
        try:
            spare.worker.limit_memory(job.worker_limits.memory_mb)
            return await execution.run()
        except _EXPLAINED as error:
            await self._explain(error, execution)
            raise
        finally:
            calls.end(execution.used_so_far())

    def _find_program(self, spare: Spare, job: Job) -> bytes:
        """The compiled source, if it is cached; otherwise it may be compiled for the next run."""
        key = ProgramKey(job.source, job.filename, spare.ready.language, spare.ready.python)
        program = self._programs.find(key)
        if not program and self._programs.should_compile(key):
            self._compiler.order(key)
        return program

    async def _explain(self, error: _Explained, execution: Supervisor) -> None:
        """Raise the error that says why the worker was lost; return if `error` does."""
        worker, job = execution.worker, execution.job
        if isinstance(error, WorkerLostError):
            if self._closed:
                raise pool_closed_error(started=error.started) from None
            raise await error_for_exit(error, worker, job) from None
        error.details.setdefault("started", execution.started)
        if error.details.get("violation") == "truncated_frame":
            raise await error_for_truncated_frame(error, worker, job) from None

    async def _take_spare(self, manifest: Manifest | None) -> Spare:
        if self._closed:
            raise pool_closed_error(started=False)
        self._taken += 1
        while (spare := self._stock.find(manifest)) is not None:
            self._stock.remove(spare)
            self._report_stock()
            if not spare.worker.is_over:
                return spare
            self._refill()
            await self._dispose(spare.worker)
        self._observer.stock_exhausted()
        # Not while the first spares are still being made, nor if those that are there do not fit.
        if self._was_full and not self._stock:
            self._target = min(2 * self._target, MAX_SPARES)
        self._report_stock()
        self._refill()
        self._waiting_callers += 1
        try:
            return await self._prepare()
        finally:
            self._waiting_callers -= 1

    def _refill(self) -> None:
        """Wake `_maintain_stock`: the stock may need a spare, and there is time to make one."""
        if not self._is_refilling:
            self._is_refilling = True
            self._refill_wanted.set()

    async def _prepare(self) -> Spare:
        started_at = time.monotonic()
        worker = await self._source.start()
        self._on_alive(+1)
        connection = HostConnection()
        readiness = ReadinessWait(worker, connection)
        ready = None
        try:
            ready = await readiness.wait(_READY_SECONDS)
        except WorkerLostError:
            ending = await wait_exit_status(worker)
            raise WorkerLostError(
                f"the worker was lost before it was ready ({ending or 'it closed its channel'})",
                started=False,
            ) from None
        finally:
            if ready is None:
                await self._dispose(worker)
        if ready is None:
            raise readiness.timeout_error()
        self._observer.worker_started(time.monotonic() - started_at)
        return Spare(worker, connection, ready)

    async def _dispose(self, worker: Worker) -> ExitStatus:
        with anyio.CancelScope(shield=True):
            worker.kill()
            try:
                ending = await wait_reaped(worker)
            finally:  # an anyio shield does not stop a native asyncio cancellation
                self._forget(worker)
        return ending

    def _finish(self, spare: Spare) -> None:
        """The worker of an execution is gone: free what it held here."""
        self._forget(spare.worker)
        self._admission.leave(spare.owner)

    def _forget(self, worker: Worker) -> None:
        worker.transport.close()
        self._on_alive(-1)

    def _report_stock(self) -> None:
        now = (len(self._stock), self._target)
        self._observer.stock_changed(now[0] - self._reported[0], now[1] - self._reported[1])
        self._reported = now

    async def _maintain_stock(self) -> None:
        backed_off = -1
        while True:
            while (unexpected := self._stock.pop_unexpected()) is not None:
                await self._dispose(unexpected.worker)
            self._report_stock()
            if len(self._stock) < self._target:
                if backed_off != self._taken:  # else nobody has wanted a worker since then
                    await self._backoff()
                    backed_off = self._taken
                await self._add_one()
                continue
            self._was_full = True
            self._is_refilling = False
            self._refill_wanted = anyio.Event()
            if self._target <= _MIN_SPARES:
                await self._refill_wanted.wait()
                continue
            with anyio.move_on_after(_IDLE_SECONDS) as idle:
                await self._refill_wanted.wait()
            if idle.cancelled_caught and self._stock:
                self._target -= 1
                await self._dispose(self._stock.pop().worker)

    async def _backoff(self) -> None:
        """Wait a moment, then as long as callers wait for a worker that is being made, but bounded.

        Called again only when a caller has wanted a worker meanwhile: an idle machine fills the
        stock without pauses. The moment also matters after an execution has ended: its end is still
        to be recorded, and a caller that runs one execution after another soon starts the next.
        Measured on two processors, with two milliseconds between them, each execution took a fifth
        longer without this delay.
        """
        for _ in range(_MAX_BACKOFFS):
            await anyio.sleep(SHORT_RUN_SECONDS)
            if not self._waiting_callers:
                return

    async def _add_one(self) -> None:
        try:
            self._stock.add(await self._prepare())
        except (WorkerLostError, ProtocolError) as error:
            logger.warning("no spare worker: %s", error)
            await anyio.sleep(_RETRY_SECONDS)
