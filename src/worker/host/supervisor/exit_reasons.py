"""How a worker ended, and the error that says so: a limit, a lie, or a loss."""

from __future__ import annotations

import logging
import signal

import anyio

from caps.protocol.errors import LimitExceededError, ProtocolError, WorkerLostError
from caps.worker.host.supervisor.cpu_limit import cpu_limit_reached
from caps.worker.host.process.worker import Ending, OutOfMemory, Worker
from caps.worker.host.supervisor.supervisor import Job

logger = logging.getLogger(__name__)

_REAP_SECONDS = 5
# Less than the kernel takes to end one that hung up and computes on: that would look like a limit.
_LAST_WORDS_SECONDS = 1.5


async def reaped(worker: Worker) -> Ending:
    """How the worker ended, which was killed: nobody waits for ever for a zygote to tell it."""
    with anyio.move_on_after(_REAP_SECONDS):
        return await worker.ended()
    logger.warning("the zygote did not reap a worker in %s seconds", _REAP_SECONDS)
    return Ending(exit_code=None, signal=signal.SIGKILL)


async def explained(
    lost: WorkerLostError, worker: Worker, job: Job
) -> LimitExceededError | ProtocolError | WorkerLostError:
    """The error that says why the worker is gone."""
    ending = await ending_of(worker)
    return lost if ending is None else _from_ending(lost, ending, job)


async def cut_short(
    error: LimitExceededError | ProtocolError, worker: Worker, job: Job
) -> LimitExceededError | ProtocolError | WorkerLostError:
    """Half a frame is a lie, unless a signal ended the worker while it wrote."""
    ending = await ending_of(worker)
    if ending is None or ending.signal is None:
        return error
    return _from_ending(WorkerLostError(error.message, started=True), ending, job)


async def ending_of(worker: Worker) -> Ending | None:
    """How the worker ended, whose channel is closed: a moment lets it tell us."""
    with anyio.move_on_after(_LAST_WORDS_SECONDS):
        return await worker.ended()
    return None


def closed_pool(*, started: bool) -> WorkerLostError:
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
