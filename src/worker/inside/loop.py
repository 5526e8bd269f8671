"""(4) A thin event loop: the few things that user-space `await` needs, and no more.

asyncio would double the memory and the start-up of every worker. Semantics follow asyncio where
both have a thing: a task starts on the next turn, cancellation arrives as `CancelledError` at the
await, `gather` raises the first error.
"""

from __future__ import annotations

import heapq
import itertools
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any

Callback = Callable[["Future"], None]


class CancelledError(BaseException):
    """The task was cancelled. A BaseException, as in asyncio: `except Exception` lets it pass."""


class InvalidStateError(Exception):
    """The result was asked for before it was there."""


class Future:
    """A result that comes later."""

    __slots__ = ("_callbacks", "_done", "_error", "_loop", "_value")

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._done = False
        self._value: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callback] = []

    def done(self) -> bool:
        return self._done

    def cancelled(self) -> bool:
        return self._done and isinstance(self._error, CancelledError)

    def result(self) -> Any:
        if not self._done:
            raise InvalidStateError("the result is not there yet")
        if self._error is not None:
            raise self._error
        return self._value

    def exception(self) -> BaseException | None:
        if not self._done:
            raise InvalidStateError("the result is not there yet")
        return self._error

    def cancel(self) -> bool:
        if self._done:
            return False
        self._finish(None, CancelledError())
        return True

    def add_done_callback(self, callback: Callback) -> None:
        if self._done:
            self._loop.call_soon(callback, self)
        else:
            self._callbacks.append(callback)

    def _finish(self, value: Any, error: BaseException | None) -> None:
        if self._done:
            return
        self._done, self._value, self._error = True, value, error
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            self._loop.call_soon(callback, self)

    def __await__(self) -> Generator[Future, None, Any]:
        if not self._done:
            yield self
        return self.result()


class Task(Future):
    """A coroutine that the loop drives."""

    __slots__ = ("_coroutine", "_must_cancel", "_waiting_for")

    def __init__(self, loop: Loop, coroutine: Coroutine[Any, Any, Any]) -> None:
        super().__init__(loop)
        self._coroutine = coroutine
        self._must_cancel = False
        self._waiting_for: Future | None = None
        loop._tasks.add(self)
        loop.call_soon(self._step, None)

    def cancel(self) -> bool:
        if self._done:
            return False
        # What it waits for is cancelled, and its end wakes this task. If that is done already, the
        # task is about to wake: it must not be stepped twice, so it learns of it then.
        if self._waiting_for is None or not self._waiting_for.cancel():
            self._must_cancel = True
        return True

    def _finish(self, value: Any, error: BaseException | None) -> None:
        self._loop._tasks.discard(self)
        super()._finish(value, error)

    def _wake(self, _future: Future) -> None:
        self._waiting_for = None
        self._step(None)

    def _step(self, error: BaseException | None) -> None:
        if self._done:
            return
        if self._must_cancel:
            self._must_cancel, error = False, CancelledError()
        try:
            step = self._coroutine
            awaited = step.send(None) if error is None else step.throw(error)
        except StopIteration as stop:
            self._finish(stop.value, None)
        except BaseException as raised:  # noqa: BLE001 - it is the task's result, whatever it is
            self._finish(None, raised)
        else:
            self._wait_for(awaited)

    def _wait_for(self, awaited: object) -> None:
        if isinstance(awaited, Future) and awaited is not self:
            self._waiting_for = awaited
            awaited.add_done_callback(self._wake)
            if self._must_cancel and awaited.cancel():
                self._must_cancel = False
        else:
            wrong = TypeError(f"a `{type(awaited).__name__}` cannot be awaited here")
            self._loop.call_soon(self._step, wrong)


class Loop:
    """Runs tasks in turns; `idle` is called between turns to move messages."""

    def __init__(self, idle: Callable[[float | None], None]) -> None:
        """`idle(timeout)` flushes what is to be sent and, if it may wait, reads what came in:
        None waits without end, 0 does not wait at all."""
        self._idle = idle
        self._ready: deque[tuple[Callable[[Any], None], Any]] = deque()
        self._timers: list[tuple[float, int, Future]] = []
        self._tasks: set[Task] = set()
        self._count = itertools.count()

    def call_soon(self, callback: Callable[[Any], None], argument: Any) -> None:
        self._ready.append((callback, argument))

    def future(self) -> Future:
        return Future(self)

    def task(self, coroutine: Coroutine[Any, Any, Any]) -> Task:
        return Task(self, coroutine)

    def timer(self, seconds: float) -> Future:
        """A future that is done after `seconds`."""
        future = Future(self)
        heapq.heappush(self._timers, (time.monotonic() + seconds, next(self._count), future))
        return future

    def run(self, task: Future) -> Any:
        """Turn until `task` is done; its result, or its error raised."""
        while not task.done():
            self._turn()
            if not task.done():
                self._idle(0 if self._ready else self._until_next_timer())
        return task.result()

    def wind_up(self, seconds: float) -> None:
        """Cancel all tasks and let them clean up; what is not done after `seconds` is given up."""
        grace = self.timer(seconds)
        for task in list(self._tasks):
            task.cancel()
        while self._tasks and not grace.done():
            try:
                self._turn()
            except BaseException:  # noqa: BLE001, S112 - a callback of what is over; nobody is there to hear
                continue
            if self._tasks and not grace.done():
                self._idle(0 if self._ready else self._until_next_timer())
        for task in list(self._tasks):
            task._finish(None, CancelledError())
        self._ready.clear()
        self._timers.clear()

    def _turn(self) -> None:
        self._fire_timers()
        for _ in range(len(self._ready)):
            if not self._ready:
                return  # a callback ran the loop itself, and took what was left
            callback, argument = self._ready.popleft()
            callback(argument)

    def _fire_timers(self) -> None:
        now = time.monotonic() if self._timers else 0.0
        while self._timers and (self._timers[0][0] <= now or self._timers[0][2].done()):
            heapq.heappop(self._timers)[2]._finish(None, None)

    def _until_next_timer(self) -> float | None:
        while self._timers and self._timers[0][2].done():
            heapq.heappop(self._timers)
        if not self._timers:
            return None
        return max(0.0, self._timers[0][0] - time.monotonic())


def ensure_future(loop: Loop, awaitable: Awaitable[Any]) -> Future:
    """`awaitable` as something that the loop drives; TypeError if it is none."""
    if isinstance(awaitable, Future):
        return awaitable
    if hasattr(type(awaitable), "__await__"):
        return loop.task(_drive(awaitable))
    raise TypeError(f"a `{type(awaitable).__name__}` cannot be awaited")


async def _drive(awaitable: Awaitable[Any]) -> Any:
    return await awaitable
