"""(4) A small event loop: only what `await` in user space needs.

asyncio would double the memory and the start-up time of every worker. For features that both have,
the semantics follow asyncio: a task starts on the next turn, cancellation is raised as
`CancelledError` at the await, a callback runs one turn after its future is done. There is one loop
per process.
"""

from __future__ import annotations

import heapq
import itertools
import math
import sys
import time
import weakref
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from types import CoroutineType
from typing import Any

from caps.worker.inside.aio.errors import CancelledError, InvalidStateError
from caps.worker.inside.aio.futures import Callback, Future, Task, enter
from caps.worker.inside.aio.sealed import Sealed
from caps.worker.inside.aio.unretrieved import LostErrors, UnretrievedError

__all__ = ["CancelledError", "Future", "InvalidStateError", "Loop", "Task", "ensure_future"]

_MIN_PRUNE_ABOVE = 128
_MAX_LOST = 1000


class Handle(metaclass=Sealed):
    """A scheduled call, which can be cancelled."""

    __slots__ = ("_argument", "_callback", "_state", "_when")

    def __init__(self, when: float, callback: Callback, argument: Any) -> None:
        self._when = when
        self._callback = callback
        self._argument = argument
        self._state = 0

    def cancel(self) -> None:
        self._state = 1

    def cancelled(self) -> bool:
        return self._state == 1

    def when(self) -> float:
        return self._when

    def _fire(self, _nothing: object) -> None:
        if not self._state:
            self._callback(self._argument)


class Loop(metaclass=Sealed):
    """Runs tasks in turns; `idle` is called between turns to move messages."""

    __slots__ = (
        "_count",
        "_error_handler",
        "_generators",
        "_idle",
        "_lost",
        "_prune_above",
        "_ready",
        "_runs",
        "_target",
        "_tasks",
        "_timers",
        "_unretrieved",
    )

    def __init__(self, idle: Callable[[float | None], None]) -> None:
        """`idle(timeout)` sends what is queued and reads what has arrived. It waits for at most
        `timeout` seconds: None waits without a limit, 0 does not wait at all."""
        self._idle = idle
        self._ready: deque[tuple[Callback, Any]] = deque()
        # A timer is a future or a handle; both are inactive once they have a state other than 0.
        self._timers: list[tuple[float, int, Future | Handle]] = []
        self._prune_above = _MIN_PRUNE_ABOVE
        self._count = itertools.count()
        self._runs = 0
        # What the innermost `run` waits for.
        self._target: Future | None = None
        self._tasks: set[Task] = set()
        self._generators: weakref.WeakSet[AsyncGenerator[Any, Any]] = weakref.WeakSet()
        # Errors that were not retrieved yet, and those that cannot be retrieved any more.
        self._unretrieved: weakref.WeakSet[UnretrievedError] = weakref.WeakSet()
        self._lost: LostErrors = deque(maxlen=_MAX_LOST)
        self._error_handler: Callable[[str, BaseException], None] | None = None
        enter(self, None)

    def set_error_handler(self, handler: Callable[[str, BaseException], None]) -> None:
        """Call `handler`, between turns, for each error that cannot be retrieved any more."""
        self._error_handler = handler

    def time(self) -> float:
        return time.monotonic()

    def is_running(self) -> bool:
        return self._runs > 0

    def call_soon(self, callback: Callback, argument: Any) -> None:
        self._ready.append((callback, argument))

    def call_at(self, when: float, callback: Callback, argument: Any) -> Handle:
        """Call `callback(argument)` at `when`, by the clock of `time`; next turn if it is past."""
        if math.isnan(when):
            raise ValueError("a time must be a number, not NaN")
        handle = Handle(when, callback, argument)
        if when <= time.monotonic():
            self._ready.append((handle._fire, None))
        else:
            self._set_timer(when, handle)
        return handle

    def call_after(self, seconds: float, callback: Callback, argument: Any) -> Handle:
        """Call `callback(argument)` after `seconds`."""
        return self.call_at(time.monotonic() + float(seconds), callback, argument)

    def future(self) -> Future:
        return Future()

    def task(self, coroutine: Coroutine[Any, Any, Any], name: object = None) -> Task:
        return Task(coroutine, name=name)

    def timer(self, seconds: float) -> Future:
        """A future that is done after `seconds`, which must be a number (not NaN)."""
        future = Future()
        self._set_timer(time.monotonic() + seconds, future)
        return future

    def run(self, future: Future) -> Any:
        """Run turns until `future` is done and its callbacks have run. Returns its result, or
        raises its error."""
        done_futures: list[Future] = []
        future.add_done_callback(done_futures.append)
        before = enter(self, None)
        hooks = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(self._generators.add, self._close_later)
        self._runs += 1
        target, self._target = self._target, future
        try:
            while not done_futures:
                self._turn()
                if not done_futures:
                    if self._ready:
                        self._idle(0)
                    else:
                        self._idle(self._seconds_to_next_timer() if self._timers else None)
        finally:
            self._runs -= 1
            self._target = target
            sys.set_asyncgen_hooks(*hooks)
            enter(self, before)
        return future.result()

    def interrupt(self, error: BaseException) -> None:
        """Raise `error` where the program waits: at the await of the task that is being run.

        Called between two turns. Raises `error` itself if no such task is waiting.
        """
        target = self._target
        if not isinstance(target, Task) or target.done():
            raise error
        target._throw(error)

    def abandon(self) -> None:
        """Drop all tasks, callbacks and timers: for the end of a cell."""
        for task in list(self._tasks):
            Future.cancel(task)
        for pending in (self._tasks, self._ready, self._timers, self._lost):
            pending.clear()

    def _turn(self) -> None:
        if self._lost:
            self._report_lost()
        if self._timers:
            self._fire_timers()
        ready = self._ready
        for _ in range(len(ready)):
            if not ready:
                return  # a callback ran the loop itself, which ran the remaining ones
            callback, argument = ready.popleft()
            try:
                callback(argument)
            except (SystemExit, KeyboardInterrupt, MemoryError):
                raise
            except BaseException as error:  # noqa: BLE001 - the callback is user code
                self._lost.append(("Exception in callback", error))
            # For the same reason as at the end of `Task._step`.
            del callback, argument

    def _report_lost(self) -> None:
        while self._error_handler is not None and self._lost:
            self._error_handler(*self._lost.popleft())

    def _set_timer(self, when: float, timer: Future | Handle) -> None:
        if len(self._timers) > self._prune_above:
            # Most timeouts are cancelled before their time: cancelled timers must not accumulate.
            self._timers = [each for each in self._timers if not each[2]._state]
            heapq.heapify(self._timers)
            self._prune_above = max(_MIN_PRUNE_ABOVE, 2 * len(self._timers))
        heapq.heappush(self._timers, (when, next(self._count), timer))

    def _fire_timers(self) -> None:
        timers, now = self._timers, time.monotonic()
        while timers and (timers[0][0] <= now or timers[0][2]._state):
            timer = heapq.heappop(timers)[2]
            if not timer._state:
                self._ready.append((timer._fire, None))

    def _seconds_to_next_timer(self) -> float | None:
        timers = self._timers
        while timers and timers[0][2]._state:
            heapq.heappop(timers)
        return max(0.0, timers[0][0] - time.monotonic()) if timers else None

    def _close_later(self, generator: AsyncGenerator[Any, Any]) -> None:
        """Close a collected async generator in a task: its clean-up may have to wait."""
        self._generators.discard(generator)
        self._ready.append((self.task, closing(generator)))


async def closing(generator: AsyncGenerator[Any, Any]) -> None:
    """Close an async generator, which runs its clean-up."""
    await generator.aclose()


def is_closing(task: Task) -> bool:
    """Whether `task` runs `closing`, which is clean-up already and is not cancelled."""
    return task._coroutine.cr_code is closing.__code__


def ensure_future(coro_or_future: Awaitable[Any], *, loop: object = None) -> Future:
    """A future or task for the awaitable. TypeError if it cannot be awaited."""
    del loop
    if type(coro_or_future) is CoroutineType:
        return Task(coro_or_future)
    if isinstance(coro_or_future, Future):
        return coro_or_future
    if hasattr(type(coro_or_future), "__await__"):
        return Task(_drive(coro_or_future))
    raise TypeError(f"a `{type(coro_or_future).__name__}` cannot be awaited")


async def _drive(awaitable: Awaitable[Any]) -> Any:
    return await awaitable
