"""The pool: how many workers live at once, and how a job gets one of its own.

Every execution gets a fresh process, which is killed and reaped when the execution ends, however it
ends. Starting is bounded more tightly than running: a burst of starts on few cores would make all
of them miss their deadline.
"""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import anyio

from caps.protocol.errors import LimitExceededError, ProtocolError, WorkerLostError
from caps.protocol.messages import ResultMessage
from caps.worker.host.process import Ending, WorkerProcess
from caps.worker.host.supervisor import CallHandler, Execution, Job, OutputHandler

logger = logging.getLogger(__name__)

_BOOT_SECONDS = 30
_LAST_WORDS_SECONDS = 2


class WorkerPool:
    """Runs jobs, each in a process of its own."""

    def __init__(self, max_workers: int, on_alive: Callable[[int], None]) -> None:
        """`on_alive` is told how many workers live whenever that changes."""
        self._slots = anyio.Semaphore(max_workers)
        self._starts = anyio.Semaphore(max(2, os.cpu_count() or 2))
        self._on_alive = on_alive
        self._alive = 0

    async def run(self, job: Job, calls: CallHandler, on_output: OutputHandler) -> ResultMessage:
        """Run `job` to its end in a process of its own, which is gone afterwards.

        Raises LimitExceededError, ProtocolError or WorkerLostError.
        """
        async with self._slots, AsyncExitStack() as stack:
            async with self._starts:
                process = await stack.enter_async_context(self._process())
                execution = Execution(job, process.transport, calls, on_output)
                try:
                    await self._boot(execution)
                except WorkerLostError as lost:
                    raise await _explained(lost, process, job) from None
            try:
                return await execution.run()
            except WorkerLostError as lost:
                raise await _explained(lost, process, job) from None
            except (LimitExceededError, ProtocolError) as error:
                error.details.setdefault("started", execution.started)
                raise

    @asynccontextmanager
    async def _process(self) -> AsyncIterator[WorkerProcess]:
        process = self._start()
        self._count(+1)
        try:
            yield process
        finally:
            process.kill()
            with anyio.CancelScope(shield=True):
                await process.ended()
            self._count(-1)

    def _start(self) -> WorkerProcess:
        try:
            return WorkerProcess.start()
        except OSError as error:
            raise WorkerLostError(
                f"no worker could be started: {error.strerror}", started=False
            ) from None

    async def _boot(self, execution: Execution) -> None:
        with anyio.move_on_after(_BOOT_SECONDS):
            await execution.until_ready()
            return
        raise WorkerLostError(
            f"the worker was not ready after {_BOOT_SECONDS} seconds", started=False
        )

    def _count(self, change: int) -> None:
        self._alive += change
        self._on_alive(self._alive)


async def _explained(
    lost: WorkerLostError, process: WorkerProcess, job: Job
) -> LimitExceededError | WorkerLostError:
    """The error that says why the worker is gone."""
    # Its channel is closed, so it is on its way out; a moment lets it tell us how.
    with anyio.move_on_after(_LAST_WORDS_SECONDS):
        return _from_ending(lost, await process.ended(), job)
    return lost


def _from_ending(
    lost: WorkerLostError, ending: Ending, job: Job
) -> LimitExceededError | WorkerLostError:
    if ending.signal == signal.SIGXCPU:
        allowed = job.worker_limits.cpu_ms
        return LimitExceededError(
            f"the code used more than {allowed} ms of cpu; raise `limits.cpu_ms` if it may",
            limit="cpu_ms",
            allowed=allowed,
            started=lost.started,
        )
    if ending.diagnostics:
        # For the operator: it names files of the host, so it is no part of the result.
        logger.error("a worker ended with %s and said: %s", ending, ending.diagnostics)
    when = "after its code had started" if lost.started else "before its code ran"
    return WorkerLostError(
        f"the worker was lost {when} ({ending})",
        started=lost.started,
        ending=str(ending),
    )
