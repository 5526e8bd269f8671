"""A lease: one worker for all runs of one session, and nobody else's, until the session ends.

The worker is killed when the session is closed, has been idle or alive for too long, or when a run
ends otherwise than with a result: a worker that was killed, lied or was cut short is never asked
again. A lease that is over says why, for good. Between runs, when no run's limits hold it, the
worker is stopped: whatever may have got loose in it does not run either.
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
from caps.worker.host.supervisor.supervisor import CallHandler, Job, OutputHandler


class SessionEnd(enum.Enum):
    """Why a session is over."""

    CLOSED = "closed"
    RUNS = "runs"  # as many runs as it may have
    IDLE = "idle"  # nothing ran for too long
    WALL = "wall"  # it lived for too long
    LIMIT = "limit"  # a limit killed the code
    PROTOCOL_VIOLATION = "protocol_violation"
    WORKER_LOST = "worker_lost"
    CANCELLED = "cancelled"  # the caller gave up a run
    HOST_FAILED = "host_failed"


class Ended(msgspec.Struct, frozen=True):
    """The end of a session, and what to tell whoever asks it for more."""

    reason: SessionEnd
    message: str


class Lease:
    """A worker that is borrowed from the pool. Runs one job at a time."""

    def __init__(self, pool: WorkerPool, *, idle_ms: int, wall_ms: int) -> None:
        self.ended: Ended | None = None
        self._pool = pool
        self._idle_ms = idle_ms
        self._wall_ms = wall_ms
        self._spare: Spare | None = None
        self._runs = 0
        self._over_at = math.inf
        self._idle_since = math.inf
        self._changed = anyio.Event()

    @property
    def layers(self) -> tuple[Layer, ...]:
        """Which layers hold the worker."""
        return self._pool.layers

    def draw_from(self, pool: WorkerPool) -> None:
        """Take the worker from another pool, once it is known which; before `open`."""
        self._pool = pool

    async def open(self) -> None:
        """Take a worker. Raises ProtocolError or WorkerLostError."""
        try:
            await self._borrow()
        except BaseException:
            self.ended = self.ended or Ended(SessionEnd.WORKER_LOST, "there was no worker for it")
            raise
        self._idle_since = time.monotonic()
        self._over_at = self._idle_since + self._wall_ms / 1000
        self._pool.keep(self._watch)

    async def run(self, job: Job, calls: CallHandler, on_output: OutputHandler) -> ResultMessage:
        """Run `job` in the worker; as `WorkerPool.run`, but whatever is raised ends the lease."""
        self._idle_since = math.inf
        ms_left = max(1, int((self._over_at - time.monotonic()) * 1000))
        try:
            capped = job if job.wall_ms <= ms_left else replace(job, wall_ms=ms_left)
            return await self._attempt(capped, calls, on_output)
        except LimitExceededError as error:
            if error.limit != "wall_ms" or job.wall_ms <= ms_left:
                await self.end(SessionEnd.LIMIT, error.message)
                raise
            await self.end(SessionEnd.WALL, self._too_old)
            raise self._grown_too_old(error) from None
        except WorkerLostError as lost:
            if self.ended is None:
                await self.end(SessionEnd.WORKER_LOST, lost.message)
                raise
            # It was killed because the session was ended from elsewhere.
            when = "while its code ran" if lost.started else "before its code ran"
            message = f"the session has ended {when}: {self.ended.message}"
            raise WorkerLostError(message, started=lost.started) from None
        except BaseException as error:
            await self.end(*_why(error))
            raise
        finally:
            self._runs += 1
            self._idle_since = time.monotonic()
            if self._idle_since >= self._over_at:
                self._changed.set()

    async def end(self, reason: SessionEnd, message: str) -> None:
        """Kill the worker, if that is still to be done; the first reason is the one that stays."""
        self.ended = self.ended or Ended(reason, message)
        spare, self._spare = self._spare, None
        self._changed.set()
        if spare is not None:
            with anyio.CancelScope(shield=True):
                await self._pool.end(spare)

    async def _attempt(
        self, job: Job, calls: CallHandler, on_output: OutputHandler
    ) -> ResultMessage:
        spare = self._spare
        assert spare is not None  # the session asks no lease that is over
        spare.worker.resume()
        try:
            message = await self._pool.run_on(spare, job, calls, on_output)
        except WorkerLostError as lost:
            if lost.started or self._runs or self._pool.closed or self._spare is None:
                raise
            # Nothing ran yet in this session, so nothing is lost: a new worker takes its place.
            self._spare = None
            await self._pool.end(spare)
            spare = await self._borrow(fresh=True)
            message = await self._pool.run_on(spare, job, calls, on_output)
        spare.worker.pause()
        return message

    async def _borrow(self, *, fresh: bool = False) -> Spare:
        spare = await self._pool.borrow(fresh=fresh)
        if self.ended is not None:  # it was closed meanwhile
            await self._pool.end(spare)
            raise WorkerLostError("the session was closed before its code ran", started=False)
        self._spare = spare
        return spare

    async def _watch(self) -> None:
        """End a session that nobody uses or that is too old; a run has its own clock."""
        try:
            while self.ended is None:
                self._changed = anyio.Event()
                with anyio.move_on_after(self._seconds_to_next_look()):
                    await self._changed.wait()
                if self._seconds_left() <= 0:
                    await self.end(*self._overdue())
        except anyio.get_cancelled_exc_class():
            await self.end(SessionEnd.CLOSED, "the runtime was closed")
            raise

    def _seconds_to_next_look(self) -> float:
        """Until when nothing can be overdue, whatever runs meanwhile: no run has to tell."""
        left = self._seconds_left()
        if left != math.inf:
            return max(0.0, left)
        # A run is under way: it may end at once, and then it is idle.
        left = min(self._idle_ms / 1000, self._over_at - time.monotonic())
        # Too old, with a run whose own clock ends it: the end of that run tells.
        return left if left > 0 else math.inf

    def _seconds_left(self) -> float:
        if self._idle_since == math.inf:
            return math.inf
        return min(self._idle_since + self._idle_ms / 1000, self._over_at) - time.monotonic()

    def _overdue(self) -> tuple[SessionEnd, str]:
        if time.monotonic() >= self._over_at:
            return SessionEnd.WALL, self._too_old
        return SessionEnd.IDLE, f"nothing ran in it for {self._idle_ms} ms"

    @property
    def _too_old(self) -> str:
        return f"it lived for {self._wall_ms} ms, as long as it may"

    def _grown_too_old(self, error: LimitExceededError) -> LimitExceededError:
        message = f"the session was over: {self._too_old}; open it with a larger `wall_ms`"
        bound = {"limit": "session_wall_ms", "allowed": self._wall_ms}
        return LimitExceededError(message, **{**error.details, **bound})


def _why(error: BaseException) -> tuple[SessionEnd, str]:
    match error:
        case ProtocolError():
            return SessionEnd.PROTOCOL_VIOLATION, error.message
        case Exception():
            return SessionEnd.HOST_FAILED, "the host failed while it ran"
        case _:
            return SessionEnd.CANCELLED, "a run was cancelled"
