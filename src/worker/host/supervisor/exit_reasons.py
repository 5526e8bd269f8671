"""Maps the way a worker ended to an error: a limit, a protocol violation, or a lost worker."""

from __future__ import annotations

import logging
import signal

import anyio

from caps.protocol.errors import LimitExceededError, ProtocolError, WorkerLostError
from caps.protocol.zygote_messages import OUT_OF_MEMORY
from caps.worker.host.process.worker import ExitStatus, OutOfMemory, Worker
from caps.worker.host.supervisor.cpu_limit import cpu_limit_reached
from caps.worker.host.supervisor.interface import Job

logger = logging.getLogger(__name__)

_REAP_SECONDS = 5
# Shorter than the RLIMIT_CPU grace second, so a worker that closed its channel and keeps running is
# not reported as over its CPU limit.
_EXIT_STATUS_SECONDS = 1.5


async def wait_reaped(worker: Worker) -> ExitStatus:
    """Wait until a killed worker is reaped. The wait is bounded: the zygote may never report it."""
    if worker.is_over:  # most often, when several were killed at a time
        return await worker.ended()
    with anyio.move_on_after(_REAP_SECONDS):
        return await worker.ended()
    logger.warning("the zygote did not reap a worker in %s seconds", _REAP_SECONDS)
    return ExitStatus(exit_code=None, signal=signal.SIGKILL)


async def error_for_exit(
    lost: WorkerLostError, worker: Worker, job: Job
) -> LimitExceededError | ProtocolError | WorkerLostError:
    """The error that says why the worker exited."""
    status = await wait_exit_status(worker)
    return lost if status is None else _error_for_status(lost, status, job)


async def error_for_truncated_frame(
    error: LimitExceededError | ProtocolError, worker: Worker, job: Job
) -> LimitExceededError | ProtocolError | WorkerLostError:
    """A truncated frame is a protocol violation, unless a signal ended the worker in mid-write."""
    status = await wait_exit_status(worker)
    if status is None or status.signal is None:
        return error
    return _error_for_status(WorkerLostError(error.message, started=True), status, job)


async def wait_exit_status(worker: Worker) -> ExitStatus | None:
    """The exit status of a worker that closed its channel; None if it does not exit soon."""
    with anyio.move_on_after(_EXIT_STATUS_SECONDS):
        return await worker.ended()
    return None


def pool_closed_error(*, started: bool) -> WorkerLostError:
    when = "while its code ran" if started else "before its code ran"
    return WorkerLostError(f"the runtime was closed {when}", started=started)


def _forbidden_to(modules: tuple[str, ...]) -> str:
    if not modules:
        return ""
    names = ", ".join(f"`{name}`" for name in modules)
    return (
        f"; the code has the real modules {names}, and a worker has no network, no threads and no "
        "other processes: use functions that the policy grants, and settings for one thread"
    )


def _error_for_status(
    lost: WorkerLostError, status: ExitStatus, job: Job
) -> LimitExceededError | ProtocolError | WorkerLostError:
    if status.out_of_memory is OutOfMemory.OWN_LIMIT or status.exit_code == OUT_OF_MEMORY:
        max_mb = job.worker_limits.memory_mb
        return LimitExceededError(
            f"the code used more than {max_mb} MB of memory; raise `limits.memory_mb` if it may",
            limit="memory_mb",
            allowed=max_mb,
            started=lost.started,
        )
    allowed_ms = job.worker_limits.cpu_ms
    # A worker that blocks SIGXCPU gets SIGKILL one second later.
    # In a session the CPU time is the sum of all its cells, so it does not count here.
    over_cpu = status.signal == signal.SIGKILL and status.cpu_us > allowed_ms * 1000
    if status.signal == signal.SIGXCPU or (over_cpu and not job.session):
        return cpu_limit_reached(allowed_ms, started=lost.started)
    if status.signal == signal.SIGSYS:
        return ProtocolError(
            "the worker made a system call that is never legitimate, and the kernel killed it"
            f"{_forbidden_to(job.modules)}",
            violation="forbidden_system_call",
            started=lost.started,
        )
    when = "after its code had started" if lost.started else "before its code ran"
    return WorkerLostError(
        f"the worker was lost {when} ({status})",
        started=lost.started,
        ending=str(status),
    )
