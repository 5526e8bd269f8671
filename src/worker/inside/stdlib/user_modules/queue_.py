"""`queue` of user space, where a thread runs to its end when it starts (see `threading_`).

So nothing can happen while code waits: a wait without a timeout that cannot end is an error.
"""

from __future__ import annotations

import heapq
import time
from collections import deque
from typing import Any

_NEVER = (
    "a thread runs to its end when it starts here, so nothing can change meanwhile; use `asyncio`"
)


class Empty(Exception):
    """There is no item."""


class Full(Exception):
    """There is no room."""


class ShutDown(Exception):
    """The queue was shut down."""


class Queue:
    """First in, first out."""

    def __init__(self, maxsize: int = 0) -> None:
        self.maxsize = maxsize
        self.unfinished_tasks = 0
        self.is_shutdown = False
        self._init(maxsize)

    def _init(self, maxsize: int) -> None:
        del maxsize
        self.queue: Any = deque()

    def _qsize(self) -> int:
        return len(self.queue)

    def _put(self, item: Any) -> None:
        self.queue.append(item)

    def _get(self) -> Any:
        return self.queue.popleft()

    def qsize(self) -> int:
        return self._qsize()

    def empty(self) -> bool:
        return not self._qsize()

    def full(self) -> bool:
        return 0 < self.maxsize <= self._qsize()

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        if self.is_shutdown:
            raise ShutDown
        if self.maxsize > 0:
            _check_timeout(block, timeout)
        if self.full():
            _wait("put", block, timeout)
            raise Full
        self._put(item)
        self.unfinished_tasks += 1

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        _check_timeout(block, timeout)
        if not self._qsize():
            if self.is_shutdown:
                raise ShutDown
            _wait("get", block, timeout)
            raise Empty
        return self._get()

    def put_nowait(self, item: Any) -> None:
        self.put(item, block=False)

    def get_nowait(self) -> Any:
        return self.get(block=False)

    def task_done(self) -> None:
        if self.unfinished_tasks <= 0:
            raise ValueError("task_done() called too many times")
        self.unfinished_tasks -= 1

    def join(self) -> None:
        if self.unfinished_tasks:
            raise RuntimeError(f"`join` would wait forever: {_NEVER}")

    def shutdown(self, immediate: bool = False) -> None:
        self.is_shutdown = True
        while immediate and self._qsize():
            self._get()
            self.unfinished_tasks = max(0, self.unfinished_tasks - 1)


class LifoQueue(Queue):
    """Last in, first out."""

    def _init(self, maxsize: int) -> None:
        del maxsize
        self.queue = []

    def _get(self) -> Any:
        return self.queue.pop()


class PriorityQueue(Queue):
    """The smallest item first."""

    def _init(self, maxsize: int) -> None:
        del maxsize
        self.queue = []

    def _put(self, item: Any) -> None:
        heapq.heappush(self.queue, item)

    def _get(self) -> Any:
        return heapq.heappop(self.queue)


class SimpleQueue(Queue):
    """First in, first out, without a size."""

    def __init__(self) -> None:
        super().__init__()


def _wait(name: str, block: bool, timeout: float | None) -> None:
    """Wait in vain, as long as the caller would."""
    if not block:
        return
    if timeout is None:
        raise RuntimeError(f"`{name}` would wait forever: {_NEVER}")
    time.sleep(timeout)


def _check_timeout(block: bool, timeout: float | None) -> None:
    if block and timeout is not None and timeout < 0:
        raise ValueError("'timeout' must be a non-negative number")
