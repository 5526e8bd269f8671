"""(4) `gather` and `as_completed`: the results of several awaitables, together or one by one."""

from __future__ import annotations

from collections.abc import Awaitable, Coroutine, Iterable
from types import CoroutineType
from typing import Any

from caps.worker.inside.aio.errors import CancelledError
from caps.worker.inside.aio.futures import FINISHED, Future, Task, current_loop
from caps.worker.inside.aio.loop import Handle, ensure_future
from caps.worker.inside.aio.queues import Queue
from caps.worker.inside.aio.sealed import Sealed


def gather(*coros_or_futures: Awaitable[Any], return_exceptions: bool = False) -> Future:
    """The results of all, in order. The first error is raised, unless `return_exceptions`."""
    children: list[Future] = []
    gathered = Gathering(children, bool(return_exceptions))
    done: Any = gathered._child_done
    seen: dict[int, Future] = {}
    for each in coros_or_futures:
        future = seen.get(id(each))  # an awaitable that is passed twice runs once
        if future is None and type(each) is CoroutineType:
            future = seen[id(each)] = Task(each)
            future._callbacks = done  # it is new, so no call is needed; there are often hundreds
        elif future is None:
            future = seen[id(each)] = ensure_future(each)
            future.add_done_callback(done)
        children.append(future)
    gathered._left = len(seen)
    if not children:
        gathered._finish([], None)
    return gathered


def _unique(awaitables: Iterable[Any]) -> list[Any]:
    """Each awaitable once, by identity: user code may define its own equality."""
    return list({id(each): each for each in awaitables}.values())


class Gathering(Future):
    """What `gather` returns: cancelling it cancels all children, and it ends when they have."""

    __slots__ = ("_cancel_requested", "_children", "_left", "_return_exceptions")

    def __init__(self, children: list[Future], return_exceptions: bool) -> None:
        super().__init__()
        self._children = children
        self._left = 0
        self._return_exceptions = return_exceptions
        self._cancel_requested = False

    def cancel(self, msg: Any = None) -> bool:
        if self._state:
            self._mark_retrieved()
            return False
        cancelled = [child.cancel(msg) for child in self._children]  # all: `any` would stop early
        self._cancel_requested = self._cancel_requested or any(cancelled)
        return any(cancelled)

    def _child_done(self, child: Future) -> None:
        self._left -= 1
        if self._state:
            child._mark_retrieved()
        elif self._return_exceptions or (child._state == FINISHED and child._error is None):
            if self._left == 0:
                self._all_done(child)
        else:
            error = child._cancellation_error() if child.cancelled() else child.exception()
            self._finish(None, error)

    def _all_done(self, last: Future) -> None:
        if self._cancel_requested:
            error = last._cancellation_error() if last.cancelled() else CancelledError()
            self._finish(None, error)
        else:
            self._finish([_outcome(child) for child in self._children], None)


def _outcome(child: Future) -> Any:
    if child._state == FINISHED:
        return child._value if child._error is None else child.exception()
    return CancelledError("" if child._value is None else child._value)


def reject_single(several: object) -> None:
    """Raise TypeError for a single awaitable where several are expected."""
    if isinstance(several, Future) or type(several) is CoroutineType:
        kind = type(several).__name__
        raise TypeError(f"several awaitables are expected, in a list or a set, not one `{kind}`")


def as_completed(fs: Iterable[Awaitable[Any]], *, timeout: float | None = None) -> AsCompleted:
    """The awaitables as they complete: `async for` yields them, `for` coroutines of results."""
    reject_single(fs)
    return AsCompleted([ensure_future(each) for each in _unique(fs)], timeout)


class AsCompleted(metaclass=Sealed):
    """What `as_completed` returns."""

    __slots__ = ("_done", "_left", "_limit", "_todo")

    def __init__(self, futures: list[Future], seconds: float | None) -> None:
        self._done: Queue = Queue()  # the done futures; None for each that was too late
        self._left = len(futures)
        self._todo = set(futures)
        self._limit: Handle | None = None
        if futures and seconds is not None:
            self._limit = current_loop().call_after(seconds, self._too_late, None)
        for future in futures:
            future.add_done_callback(self._completed)

    def _completed(self, future: Future) -> None:
        if future in self._todo:
            self._todo.remove(future)
            self._done.put_nowait(future)
            if not self._todo and self._limit is not None:
                self._limit.cancel()

    def _too_late(self, _nothing: object) -> None:
        for future in self._todo:
            future.remove_done_callback(self._completed)
            self._done.put_nowait(None)
        self._todo.clear()

    def __iter__(self) -> AsCompleted:
        return self

    def __next__(self) -> Coroutine[Any, Any, Any]:
        if not self._left:
            raise StopIteration
        self._left -= 1
        return self._next_result()

    def __aiter__(self) -> AsCompleted:
        return self

    async def __anext__(self) -> Future:
        if not self._left:
            raise StopAsyncIteration
        self._left -= 1
        return await self._next_future()

    async def _next_future(self) -> Future:
        future: Future | None = await self._done.get()
        if future is None:
            raise TimeoutError
        return future

    async def _next_result(self) -> Any:
        return (await self._next_future()).result()
