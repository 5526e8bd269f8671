"""(4) Lock, Event, Semaphore: tasks wait for each other in FIFO order.

Each waiter is a future in a queue. A waiter that is woken and then cancelled wakes the next one, so
that no wake-up is ever lost.
"""

from __future__ import annotations

from collections import deque

from caps.worker.inside.aio.futures import Future
from caps.worker.inside.aio.sealed import Sealed


async def wait_in_fifo(waiters: deque[Future]) -> None:
    """Wait at the end of the queue until woken."""
    waiter = Future()
    waiters.append(waiter)
    try:
        await waiter
    finally:
        waiters.remove(waiter)


def wake_first(waiters: deque[Future]) -> bool:
    """Wake the first waiter that is not awake yet. Returns whether there was one."""
    for waiter in waiters:
        if not waiter.done():
            waiter._finish(True, None)
            return True
    return False


def wake_all(waiters: deque[Future]) -> None:
    """Wake all waiters that are not awake yet."""
    for waiter in waiters:
        waiter._finish(True, None)


def format_repr(kind: str, state: str, waiters: deque[Future]) -> str:
    """The `repr` of an object with waiters."""
    line = f", waiters:{len(waiters)}" if waiters else ""
    return f"<{kind} [{state}{line}]>"


class Lock(metaclass=Sealed):
    """Held by one at a time: `async with lock`."""

    __slots__ = ("_locked", "_waiters")

    def __init__(self) -> None:
        self._locked = False
        self._waiters: deque[Future] = deque()

    def locked(self) -> bool:
        return self._locked

    async def acquire(self) -> bool:
        if self._locked or not all(waiter.cancelled() for waiter in self._waiters):
            try:
                await wait_in_fifo(self._waiters)
            except BaseException:
                if not self._locked:
                    self._wake()
                raise
        self._locked = True
        return True

    def release(self) -> None:
        if not self._locked:
            raise RuntimeError("the lock is not acquired")
        self._locked = False
        self._wake()

    def _wake(self) -> None:
        # Only the first: if it is awake already, it is about to take the lock.
        if self._waiters and not self._waiters[0].done():
            self._waiters[0]._finish(True, None)

    async def __aenter__(self) -> None:
        await self.acquire()

    async def __aexit__(self, *_error: object) -> None:
        self.release()

    def __repr__(self) -> str:
        return format_repr("Lock", "locked" if self._locked else "unlocked", self._waiters)


class Event(metaclass=Sealed):
    """A flag that can be waited for."""

    __slots__ = ("_set", "_waiters")

    def __init__(self) -> None:
        self._set = False
        self._waiters: deque[Future] = deque()

    def is_set(self) -> bool:
        return self._set

    def set(self) -> None:
        self._set = True
        wake_all(self._waiters)

    def clear(self) -> None:
        self._set = False

    async def wait(self) -> bool:
        if not self._set:
            await wait_in_fifo(self._waiters)
        return True

    def __repr__(self) -> str:
        return format_repr("Event", "set" if self._set else "unset", self._waiters)


class Semaphore(metaclass=Sealed):
    """Held by `value` at a time."""

    __slots__ = ("_value", "_waiters")

    def __init__(self, value: int = 1) -> None:
        if value < 0:
            raise ValueError("a semaphore must not begin below 0")
        self._value = value
        self._waiters: deque[Future] = deque()

    def locked(self) -> bool:
        """Whether `acquire` would wait, also because of other waiters."""
        return self._value == 0 or any(not waiter.cancelled() for waiter in self._waiters)

    async def acquire(self) -> bool:
        if not self.locked():
            self._value -= 1
            return True
        await self._wait()
        return True

    async def _wait(self) -> None:
        waiter = Future()
        self._waiters.append(waiter)
        try:
            await waiter
        except BaseException:
            if waiter.done() and not waiter.cancelled():
                self._value += 1  # it was woken, and will not use its slot
            raise
        finally:
            self._waiters.remove(waiter)
            self._wake_waiters()

    def release(self) -> None:
        self._value += 1
        self._wake_waiters()

    def _wake_waiters(self) -> None:
        while self._value > 0 and wake_first(self._waiters):
            self._value -= 1

    async def __aenter__(self) -> None:
        await self.acquire()

    async def __aexit__(self, *_error: object) -> None:
        self.release()

    def __repr__(self) -> str:
        state = "locked" if self.locked() else f"unlocked, value:{self._value}"
        return format_repr(type(self).__name__, state, self._waiters)


class BoundedSemaphore(Semaphore):
    """A semaphore that is never released more often than acquired."""

    __slots__ = ("_bound",)

    def __init__(self, value: int = 1) -> None:
        super().__init__(value)
        self._bound = value

    def release(self) -> None:
        if self._value >= self._bound:
            raise ValueError("the semaphore was released too often")
        super().release()
