"""(4) Condition and Barrier: tasks that wait until something holds, or until all have come."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from caps.worker.inside.aio.errors import BrokenBarrierError, CancelledError
from caps.worker.inside.aio.futures import Future
from caps.worker.inside.aio.locks import Lock, described, in_line, wake_first
from caps.worker.inside.aio.sealed import Sealed


class Condition(metaclass=Sealed):
    """A lock whose holders can wait for a notification."""

    __slots__ = ("_lock", "_waiters")

    def __init__(self, lock: Lock | None = None) -> None:
        if lock is not None and type(lock) is not Lock:
            raise TypeError("a condition takes a Lock")
        self._lock = Lock() if lock is None else lock
        self._waiters: deque[Future] = deque()

    def locked(self) -> bool:
        return self._lock.locked()

    async def acquire(self) -> bool:
        return await self._lock.acquire()

    def release(self) -> None:
        self._lock.release()

    async def wait(self) -> bool:
        """Let go of the lock until notified; it is held again at the end, whatever comes."""
        self._check("wait")
        self._lock.release()
        try:
            try:
                await in_line(self._waiters)
            finally:
                await self._take_back()
        except BaseException:
            wake_first(self._waiters)  # it may have been this one's notification
            raise
        return True

    async def _take_back(self) -> None:
        cancelled: CancelledError | None = None
        while True:
            try:
                await self._lock.acquire()
                break
            except CancelledError as error:
                cancelled = error
        if cancelled is not None:
            raise cancelled

    async def wait_for(self, predicate: Callable[[], Any]) -> Any:
        while not (result := predicate()):
            await self.wait()
        return result

    def notify(self, n: int = 1) -> None:
        self._check("notify")
        for _ in range(n):
            if not wake_first(self._waiters):
                break

    def notify_all(self) -> None:
        self.notify(len(self._waiters))

    def _check(self, what: str) -> None:
        if not self._lock.locked():
            raise RuntimeError(f"{what} needs the lock, which is not acquired")

    async def __aenter__(self) -> None:
        await self._lock.acquire()

    async def __aexit__(self, *_error: object) -> None:
        self._lock.release()

    def __repr__(self) -> str:
        return described("Condition", "locked" if self.locked() else "unlocked", self._waiters)


class Barrier(metaclass=Sealed):
    """Where `parties` tasks meet: nobody goes on before all have come."""

    __slots__ = ("_broken", "_parties", "_waiters")

    def __init__(self, parties: int) -> None:
        if parties < 1:
            raise ValueError("a barrier needs at least one party")
        self._parties = parties
        self._broken = False
        self._waiters: list[Future] = []

    @property
    def parties(self) -> int:
        return self._parties

    @property
    def n_waiting(self) -> int:
        return len(self._waiters)

    @property
    def broken(self) -> bool:
        return self._broken

    async def wait(self) -> int:
        """Wait for the others; the number of this one among them, from 0."""
        if self._broken:
            raise BrokenBarrierError("the barrier was aborted")
        index = len(self._waiters)
        if index + 1 == self._parties:
            self._let_go(met=True)
            return index
        waiter = Future()
        self._waiters.append(waiter)
        try:
            met = await waiter
        finally:
            if waiter in self._waiters:
                self._waiters.remove(waiter)
        if not met:
            raise BrokenBarrierError("the barrier was reset or aborted")
        return index

    def _let_go(self, *, met: bool) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            waiter._finish(met, None)

    async def reset(self) -> None:
        """Begin anew; whoever waits gets BrokenBarrierError."""
        self._broken = False
        self._let_go(met=False)

    async def abort(self) -> None:
        """Break it: whoever waits, or comes later, gets BrokenBarrierError."""
        self._broken = True
        self._let_go(met=False)

    async def __aenter__(self) -> int:
        return await self.wait()

    async def __aexit__(self, *_error: object) -> None:
        return None

    def __repr__(self) -> str:
        state = f"filling, waiters:{len(self._waiters)}/{self._parties}"
        return f"<Barrier [{'broken' if self._broken else state}]>"
