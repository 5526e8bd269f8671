"""(4) A thin event loop: the few things that user-space `await` needs, and no more.

asyncio would double the memory and the start-up of every worker. Semantics follow asyncio where
both have a thing: a task starts on the next turn, cancellation arrives as `CancelledError` at the
await, a callback runs a turn after what it waited for. There is one loop in a process.
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
from caps.worker.inside.aio.unretrieved import Lost, Unretrieved

__all__ = ["CancelledError", "Future", "InvalidStateError", "Loop", "Task", "ensure_future"]

_FEW_TIMERS = 128
_MOST_LOST = 1000


class Handle(metaclass=Sealed):
    """A call that is to come, and can be cancelled."""

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

    def _ring(self, _nothing: object) -> None:
        if not self._state:
            self._callback(self._argument)


class Loop(metaclass=Sealed):
    """Runs tasks in turns; `idle` is called between turns to move messages."""

    __slots__ = (
        "_complain",
        "_count",
        "_generators",
        "_idle",
        "_lost",
        "_ready",
        "_runs",
        "_tasks",
        "_timers",
        "_timers_kept",
        "_unretrieved",
    )

    def __init__(self, idle: Callable[[float | None], None]) -> None:
        """`idle(timeout)` flushes what is to be sent and, if it may wait, reads what came in:
        None waits without end, 0 does not wait at all."""
        self._idle = idle
        self._ready: deque[tuple[Callback, Any]] = deque()
        # A timer is a future or a handle; either is dead once it has a state.
        self._timers: list[tuple[float, int, Future | Handle]] = []
        self._timers_kept = _FEW_TIMERS
        self._count = itertools.count()
        self._runs = 0
        self._tasks: set[Task] = set()
        self._generators: weakref.WeakSet[AsyncGenerator[Any, Any]] = weakref.WeakSet()
        # Errors that nobody has asked for yet, and those that nobody can ask for any more.
        self._unretrieved: weakref.WeakSet[Unretrieved] = weakref.WeakSet()
        self._lost: Lost = deque(maxlen=_MOST_LOST)
        self._complain: Callable[[str, BaseException], None] | None = None
        enter(self, None)

    def listen(self, complain: Callable[[str, BaseException], None]) -> None:
        """From now on `complain` hears of errors that nobody will ask for, between turns."""
        self._complain = complain

    def time(self) -> float:
        return time.monotonic()

    def is_running(self) -> bool:
        return self._runs > 0

    def call_soon(self, callback: Callback, argument: Any) -> None:
        self._ready.append((callback, argument))

    def call_at(self, when: float, callback: Callback, argument: Any) -> Handle:
        """`callback(argument)` at `when`, by the clock of `time`; next turn if that is past."""
        if math.isnan(when):
            raise ValueError("a time must be a number, not NaN")
        handle = Handle(when, callback, argument)
        if when <= time.monotonic():
            self._ready.append((handle._ring, None))
        else:
            self._set_timer(when, handle)
        return handle

    def call_after(self, seconds: float, callback: Callback, argument: Any) -> Handle:
        """`callback(argument)` in `seconds`."""
        return self.call_at(time.monotonic() + float(seconds), callback, argument)

    def future(self) -> Future:
        return Future()

    def task(self, coroutine: Coroutine[Any, Any, Any], name: object = None) -> Task:
        return Task(coroutine, name=name)

    def timer(self, seconds: float) -> Future:
        """A future that is done after `seconds`, which must be a number."""
        future = Future()
        self._set_timer(time.monotonic() + seconds, future)
        return future

    def run(self, future: Future) -> Any:
        """Turn until `future` is done and its callbacks have run; its result, or its error."""
        ended: list[Future] = []
        future.add_done_callback(ended.append)
        before = enter(self, None)
        hooks = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(self._generators.add, self._close_later)
        self._runs += 1
        try:
            while not ended:
                self._turn()
                if not ended:
                    self._idle(0 if self._ready else self._until_next_timer())
        finally:
            self._runs -= 1
            sys.set_asyncgen_hooks(*hooks)
            enter(self, before)
        return future.result()

    def abandon(self) -> None:
        """Nothing that was started is ever gone on with: for the end of a cell."""
        for task in list(self._tasks):
            Future.cancel(task)
        for left in (self._tasks, self._ready, self._timers, self._lost):
            left.clear()

    def _turn(self) -> None:
        if self._lost:
            self._tell_lost()
        if self._timers:
            self._fire_timers()
        ready = self._ready
        for _ in range(len(ready)):
            if not ready:
                return  # a callback ran the loop itself, and took what was left
            callback, argument = ready.popleft()
            try:
                callback(argument)
            except (SystemExit, KeyboardInterrupt, MemoryError):
                raise
            except BaseException as error:  # noqa: BLE001 - the callback is the user's own
                self._lost.append(("Exception in callback", error))

    def _tell_lost(self) -> None:
        while self._complain is not None and self._lost:
            self._complain(*self._lost.popleft())

    def _set_timer(self, when: float, timer: Future | Handle) -> None:
        if len(self._timers) > self._timers_kept:
            # Most timeouts never come: the cancelled ones must not pile up until their time.
            self._timers = [each for each in self._timers if not each[2]._state]
            heapq.heapify(self._timers)
            self._timers_kept = max(_FEW_TIMERS, 2 * len(self._timers))
        heapq.heappush(self._timers, (when, next(self._count), timer))

    def _fire_timers(self) -> None:
        timers, now = self._timers, time.monotonic()
        while timers and (timers[0][0] <= now or timers[0][2]._state):
            timer = heapq.heappop(timers)[2]
            if not timer._state:
                self._ready.append((timer._ring, None))

    def _until_next_timer(self) -> float | None:
        timers = self._timers
        while timers and timers[0][2]._state:
            heapq.heappop(timers)
        return max(0.0, timers[0][0] - time.monotonic()) if timers else None

    def _close_later(self, generator: AsyncGenerator[Any, Any]) -> None:
        """An asynchronous generator that nobody goes on with: its clean-up may have to wait."""
        self._generators.discard(generator)
        self._ready.append((self.task, closing(generator)))


async def closing(generator: AsyncGenerator[Any, Any]) -> None:
    """The end of an asynchronous generator, with its clean-up."""
    await generator.aclose()


def closes(task: Task) -> bool:
    """Whether `task` is such an end, which is clean-up already and is not cancelled."""
    return task._coroutine.cr_code is closing.__code__


def ensure_future(coro_or_future: Awaitable[Any], *, loop: object = None) -> Future:
    """Something that the loop drives; TypeError if it cannot be awaited."""
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
