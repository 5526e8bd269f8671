"""(4) `asyncio.timeout`: a block that is cancelled when its time is up.

It cancels the task, and turns only its own cancellation into TimeoutError: if the task was also
cancelled from elsewhere, that cancellation continues.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from caps.worker.inside.aio.errors import CancelledError
from caps.worker.inside.aio.futures import Task, current_loop, current_task
from caps.worker.inside.aio.loop import Handle
from caps.worker.inside.aio.sealed import Sealed


class _TimeoutState(Enum):
    CREATED = "created"
    ENTERED = "active"
    EXPIRING = "expiring"
    EXPIRED = "expired"
    EXITED = "finished"


class Timeout(metaclass=Sealed):
    """One block with a timeout."""

    __slots__ = ("_cancels", "_handle", "_state", "_task", "_when")

    def __init__(self, when: float | None) -> None:
        self._when = None if when is None else float(when)
        self._state = _TimeoutState.CREATED
        self._handle: Handle | None = None
        self._task: Task | None = None
        self._cancels = 0

    def when(self) -> float | None:
        return self._when

    def expired(self) -> bool:
        return self._state in (_TimeoutState.EXPIRING, _TimeoutState.EXPIRED)

    def reschedule(self, when: float | None) -> None:
        if self._state is not _TimeoutState.ENTERED:
            raise RuntimeError(f"a timeout that is {self._state.value} cannot be rescheduled")
        self._when = None if when is None else float(when)
        self._disarm()
        if self._when is not None:
            self._handle = current_loop().call_at(self._when, self._expire, None)

    def _disarm(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _expire(self, _nothing: object) -> None:
        assert self._task is not None
        self._handle = None
        self._state = _TimeoutState.EXPIRING
        self._task.cancel()

    async def __aenter__(self) -> Timeout:
        if self._state is not _TimeoutState.CREATED:
            raise RuntimeError("a timeout can be entered once")
        task = current_task()
        if task is None:
            raise RuntimeError("a timeout needs a task to cancel")
        self._task = task
        self._state = _TimeoutState.ENTERED
        self._cancels = task.cancelling()
        self.reschedule(self._when)
        return self

    async def __aexit__(self, kind: type | None, error: BaseException | None, _tb: Any) -> None:
        self._disarm()
        task, self._task = self._task, None
        if self._state is not _TimeoutState.EXPIRING or task is None:
            self._state = _TimeoutState.EXITED
            return
        self._state = _TimeoutState.EXPIRED
        if task.uncancel() > self._cancels or kind is None or error is None:
            return
        if issubclass(kind, CancelledError):
            raise TimeoutError from error
        _explain(error)
        if isinstance(error, ExceptionGroup):
            for one in error.exceptions:
                _explain(one)

    def __repr__(self) -> str:
        at = f" when={self._when}" if self._state is _TimeoutState.ENTERED else ""
        return f"<Timeout [{self._state.value}]{at}>"


def _explain(error: BaseException | None) -> None:
    """Put a TimeoutError before our cancellation, which led to another error of the block."""
    while error is not None:
        before = error.__context__
        if isinstance(before, CancelledError):
            error.__context__ = expired = TimeoutError()
            expired.__context__ = expired.__cause__ = before
            return
        error = before


def timeout(delay: float | None) -> Timeout:
    """A block that may take `delay` seconds; None means no limit."""
    return Timeout(None if delay is None else current_loop().time() + float(delay))


def timeout_at(when: float | None) -> Timeout:
    """A block that may run until `when`, by the clock of the loop."""
    return Timeout(when)
