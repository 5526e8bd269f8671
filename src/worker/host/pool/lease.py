"""A lease: one worker for all runs of one session, and for nothing else, until the session ends.

The worker is killed when the session is closed, has been idle or alive for too long, or when a run
ends without a result: a worker that was killed or broke the protocol is never used again. If it was
killed since its code did not stop at a limit, or when it was asked to, the next run gets a new
worker, without the names of the earlier runs. Every other such end is the end of the lease, which
keeps its reason. Between runs, when no run's limits bound it, the
worker is paused (SIGSTOP), so that no leftover code can run in it either.
"""

from __future__ import annotations

import enum
import math
import time

import anyio
import msgspec
from msgspec.structs import replace

from caps.protocol.enforcement import Layer
from caps.protocol.errors import LimitExceededError, ProtocolError, WorkerLostError
from caps.protocol.messages import ResultMessage
from caps.worker.host.pool.pool import Spare, WorkerPool
from caps.worker.host.supervisor.interface import CallHandler, Job, OutputHandler
from caps.worker.host.supervisor.interruption import CodeInterruptedError, interrupt

_LOST = "it was killed, and all names of the session are lost"


class SessionEnd(enum.Enum):
    """Why a session has ended."""

    CLOSED = "closed"
    RUNS = "runs"  # it had as many runs as it may have
    IDLE = "idle"  # nothing ran for too long
    WALL = "wall"  # it lived for too long
    PROTOCOL_VIOLATION = "protocol_violation"
    WORKER_LOST = "worker_lost"
    CANCELLED = "cancelled"  # the caller cancelled a run
    HOST_FAILED = "host_failed"


class SessionOutcome(msgspec.Struct, frozen=True):
    """The end of a session, and the message for callers that try to use it afterwards."""

    reason: SessionEnd
    message: str


class Lease:
    """A worker borrowed from the pool. Runs one job at a time."""

    def __init__(self, pool: WorkerPool, *, idle_ms: int, wall_ms: int, owner: str = "") -> None:
        self.ended: SessionOutcome | None = None
        self._pool = pool
        self._owner = owner
        self._idle_ms = idle_ms
        self._wall_ms = wall_ms
        self._spare: Spare | None = None
        self._runs = 0
        self._expires_at = math.inf
        self._idle_since = math.inf
        self._changed = anyio.Event()
        # The worker whose code runs.
        self._running: Spare | None = None
        self._code_runs: anyio.Event | None = None  # set only while someone waits for it
        self._was_stopped = False
        self._loss: str | None = None

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The layers that confine the worker."""
        return self._pool.layers

    def use_pool(self, pool: WorkerPool) -> None:
        """Take the worker from another pool. Called before `open`, when the pool is known."""
        self._pool = pool

    async def open(self) -> None:
        """Take a worker. Raises ProtocolError, NoFreeWorkerError or another WorkerLostError."""
        try:
            await self._borrow()
        except BaseException:
            self.ended = self.ended or SessionOutcome(
                SessionEnd.WORKER_LOST, "there was no worker for it"
            )
            raise
        self._idle_since = time.monotonic()
        self._expires_at = self._idle_since + self._wall_ms / 1000
        self._pool.start_task(self._watch)

    async def run(self, job: Job, calls: CallHandler, on_output: OutputHandler) -> ResultMessage:
        """Run `job` in the worker, like `WorkerPool.run`, but every error ends the lease."""
        self._idle_since = math.inf
        ms_left = max(1, int((self._expires_at - time.monotonic()) * 1000))
        try:
            capped = job if job.wall_ms <= ms_left else replace(job, wall_ms=ms_left)
            return await self._attempt(capped, calls, on_output)
        except LimitExceededError as error:
            if error.limit == "wall_ms" and job.wall_ms > ms_left:
                await self.end(SessionEnd.WALL, self._expired_message)
                raise self._session_expired(error) from None
            if isinstance(error, CodeInterruptedError):
                raise
            message = f"{error.message}; the code did not stop, so {_LOST}"
            await self._drop_worker(error.message)
            raise LimitExceededError(message, **error.details) from None
        except WorkerLostError as lost:
            if self._was_stopped and self.ended is None:
                await self._drop_worker("the code did not stop when it was interrupted")
                message = f"the code did not stop when it was interrupted, so {_LOST}"
                raise WorkerLostError(message, started=lost.started) from None
            if self.ended is None:
                await self.end(SessionEnd.WORKER_LOST, lost.message)
                raise
            # It was killed because another task ended the session.
            when = "while its code ran" if lost.started else "before its code ran"
            message = f"the session has ended {when}: {self.ended.message}"
            raise WorkerLostError(message, started=lost.started) from None
        except BaseException as error:
            await self.end(*_end_reason(error))
            raise
        finally:
            self._runs += 1
            self._was_stopped = False
            self._idle_since = time.monotonic()
            if self._idle_since >= self._expires_at:
                self._changed.set()

    async def interrupt(self) -> None:
        """Interrupt the code that runs, or will run soon, and kill it if it does not stop in time.

        The caller cancels this when the run has ended.
        """
        while (spare := self._running) is None:
            self._code_runs = self._code_runs or anyio.Event()
            await self._code_runs.wait()
        await interrupt(spare.worker)
        self._was_stopped = True
        spare.worker.kill()

    def take_loss(self) -> str | None:
        """Why the names of the runs before this one were lost, if that was not told yet."""
        loss, self._loss = self._loss, None
        return loss

    async def end(self, reason: SessionEnd, message: str) -> None:
        """Kill the worker, unless that is done already. The first reason is kept."""
        self.ended = self.ended or SessionOutcome(reason, message)
        spare, self._spare = self._spare, None
        self._changed.set()
        if spare is not None:
            with anyio.CancelScope(shield=True):
                await self._pool.end(spare)

    async def _attempt(
        self, job: Job, calls: CallHandler, on_output: OutputHandler
    ) -> ResultMessage:
        self._running = spare = self._spare or await self._borrow()
        if self._code_runs is not None:
            self._note_running()
        try:
            message = await self._pool.run_on(spare, job, calls, on_output)
        except CodeInterruptedError:
            spare.worker.pause()
            raise
        except WorkerLostError as lost:
            self._running = None
            if lost.started or self._runs or self._pool.closed or self._spare is None:
                raise
            # No code ran yet in this session, so nothing is lost: a new worker replaces it.
            self._spare = None
            await self._pool.end(spare)
            self._running = spare = await self._borrow(fresh=True)
            self._note_running()
            message = await self._pool.run_on(spare, job, calls, on_output)
        finally:
            self._running = None
        spare.worker.pause()
        return message

    def _note_running(self) -> None:
        waiting, self._code_runs = self._code_runs, None
        if waiting is not None:
            waiting.set()

    async def _drop_worker(self, reason: str) -> None:
        """The code was killed, and its names with it: the next run borrows another worker."""
        self._loss, self._runs = reason, -1  # the run that ends now is not one of the new worker
        spare, self._spare = self._spare, None
        if spare is not None:
            with anyio.CancelScope(shield=True):
                await self._pool.end(spare)

    async def _borrow(self, *, fresh: bool = False) -> Spare:
        spare = await self._pool.borrow(self._owner, fresh=fresh)
        if self.ended is not None:  # the session was closed meanwhile
            await self._pool.end(spare)
            raise WorkerLostError("the session was closed before its code ran", started=False)
        self._spare = spare
        return spare

    async def _watch(self) -> None:
        """End a session that is idle or too old; a run has its own clock."""
        try:
            while self.ended is None:
                self._changed = anyio.Event()
                with anyio.move_on_after(self._seconds_to_next_check()):
                    await self._changed.wait()
                if self._seconds_left() <= 0:
                    await self.end(*self._expiry())
        except anyio.get_cancelled_exc_class():
            await self.end(SessionEnd.CLOSED, "the runtime was closed")
            raise

    def _seconds_to_next_check(self) -> float:
        """How long the session cannot expire, whatever runs meanwhile: runs need not notify us."""
        left = self._seconds_left()
        if left != math.inf:
            return max(0.0, left)
        # A run is in flight: it may end immediately, and then the session is idle.
        left = min(self._idle_ms / 1000, self._expires_at - time.monotonic())
        # Too old during a run: the run's own clock ends it, and then sets `_changed`.
        return left if left > 0 else math.inf

    def _seconds_left(self) -> float:
        if self._idle_since == math.inf:
            return math.inf
        return min(self._idle_since + self._idle_ms / 1000, self._expires_at) - time.monotonic()

    def _expiry(self) -> tuple[SessionEnd, str]:
        if time.monotonic() >= self._expires_at:
            return SessionEnd.WALL, self._expired_message
        return SessionEnd.IDLE, f"nothing ran in it for {self._idle_ms} ms"

    @property
    def _expired_message(self) -> str:
        return f"it lived for {self._wall_ms} ms, as long as it may"

    def _session_expired(self, error: LimitExceededError) -> LimitExceededError:
        message = f"the session was over: {self._expired_message}; open it with a larger `wall_ms`"
        bound = {"limit": "session_wall_ms", "allowed": self._wall_ms}
        return LimitExceededError(message, **{**error.details, **bound})


def _end_reason(error: BaseException) -> tuple[SessionEnd, str]:
    match error:
        case ProtocolError():
            return SessionEnd.PROTOCOL_VIOLATION, error.message
        case Exception():
            return SessionEnd.HOST_FAILED, "the host failed while it ran"
        case _:
            return SessionEnd.CANCELLED, "a run was cancelled"
