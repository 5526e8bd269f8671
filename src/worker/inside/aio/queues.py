"""(4) Queues between tasks: first in first out, last in first out, smallest first."""

from __future__ import annotations

import heapq
from collections import deque
from types import GenericAlias
from typing import Any, ClassVar

from caps.worker.inside.aio.errors import QueueEmpty, QueueFull, QueueShutDown
from caps.worker.inside.aio.futures import Future
from caps.worker.inside.aio.locks import Event, wake_all, wake_first
from caps.worker.inside.aio.sealed import Sealed


async def _wait_in_line(waiters: deque[Future]) -> None:
    """Wait in a queue of waiters; a waiter that is cancelled after it was woken wakes the next."""
    waiter = Future()
    waiters.append(waiter)
    try:
        await waiter
    except BaseException:
        if not waiter.cancelled():
            wake_first(waiters)  # the next one checks again whether it can continue
        raise
    finally:
        waiters.remove(waiter)


class Queue(metaclass=Sealed):
    """First in, first out."""

    __slots__ = ("_finished", "_getters", "_items", "_maxsize", "_putters", "_shut", "_unfinished")

    __class_getitem__: ClassVar[Any] = classmethod(GenericAlias)

    def __init__(self, maxsize: int = 0) -> None:
        self._maxsize = maxsize
        self._items: Any = self._empty()
        self._getters: deque[Future] = deque()
        self._putters: deque[Future] = deque()
        self._unfinished = 0
        self._finished = Event()
        self._finished.set()
        self._shut = False

    def _empty(self) -> Any:
        return deque()

    def _take(self) -> Any:
        return self._items.popleft()

    def _add(self, item: Any) -> None:
        self._items.append(item)

    @property
    def maxsize(self) -> int:
        return self._maxsize

    def qsize(self) -> int:
        return len(self._items)

    def empty(self) -> bool:
        return not self._items

    def full(self) -> bool:
        return 0 < self._maxsize <= len(self._items)

    async def put(self, item: Any) -> None:
        """Add an item; wait until there is room."""
        while self.full() and not self._shut:
            await _wait_in_line(self._putters)
        self.put_nowait(item)

    def put_nowait(self, item: Any) -> None:
        if self._shut:
            raise QueueShutDown
        if self.full():
            raise QueueFull
        self._add(item)
        self._unfinished += 1
        self._finished.clear()
        wake_first(self._getters)

    async def get(self) -> Any:
        """Take an item; wait until there is one."""
        while not self._items and not self._shut:
            await _wait_in_line(self._getters)
        return self.get_nowait()

    def get_nowait(self) -> Any:
        if not self._items:
            raise QueueShutDown if self._shut else QueueEmpty
        item = self._take()
        wake_first(self._putters)
        return item

    def task_done(self) -> None:
        """An item that was taken is processed."""
        if self._unfinished <= 0:
            raise ValueError("task_done was called too often")
        self._mark_done(1)

    def _mark_done(self, count: int) -> None:
        self._unfinished = max(0, self._unfinished - count)
        if self._unfinished == 0:
            self._finished.set()

    async def join(self) -> None:
        """Wait until every item that was put is processed."""
        if self._unfinished > 0:
            await self._finished.wait()

    def shutdown(self, immediate: bool = False) -> None:
        """No more puts; gets until it is empty, or with `immediate` none at all."""
        self._shut = True
        if immediate:
            count = len(self._items)
            self._items.clear()
            self._mark_done(count)
        wake_all(self._getters)
        wake_all(self._putters)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} maxsize={self._maxsize} items={len(self._items)}>"


class LifoQueue(Queue):
    """Last in, first out."""

    __slots__ = ()

    def _empty(self) -> list[Any]:
        return []

    def _take(self) -> Any:
        return self._items.pop()


class PriorityQueue(LifoQueue):
    """The smallest item first; items are often pairs of a number and data."""

    __slots__ = ()

    def _take(self) -> Any:
        return heapq.heappop(self._items)

    def _add(self, item: Any) -> None:
        heapq.heappush(self._items, item)
