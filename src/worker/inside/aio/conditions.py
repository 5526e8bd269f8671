"""(4) Condition and Barrier: tasks wait for a notification, or until all have arrived."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from enum import Enum
from typing import Any

from caps.worker.inside.aio.errors import BrokenBarrierError, CancelledError
from caps.worker.inside.aio.futures import Future
from caps.worker.inside.aio.locks import Lock, format_repr, wait_in_fifo, wake_first
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
        """Release the lock until notified; it is held again at the end in every case."""
        self._check("wait")
        self._lock.release()
        try:
            try:
                await wait_in_fifo(self._waiters)
            finally:
                await self._reacquire()
        except BaseException:
            wake_first(self._waiters)  # this waiter may have been the one that was notified
            raise
        return True

    async def _reacquire(self) -> None:
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
        return format_repr("Condition", "locked" if self.locked() else "unlocked", self._waiters)


class _BarrierState(Enum):
    FILLING = "filling"
    DRAINING = "draining"
    RESETTING = "resetting"
    BROKEN = "broken"


class Barrier(metaclass=Sealed):
    """`parties` tasks meet here: none continues before all have arrived.

    While they leave, and while it is reset, tasks that arrive wait until the last one has left.
    """

    __slots__ = ("_condition", "_count", "_parties", "_state")

    def __init__(self, parties: int) -> None:
        if parties < 1:
            raise ValueError("a barrier needs at least one party")
        self._condition = Condition()
        self._parties = parties
        self._state = _BarrierState.FILLING
        self._count = 0

    @property
    def parties(self) -> int:
        return self._parties

    @property
    def n_waiting(self) -> int:
        return self._count if self._state is _BarrierState.FILLING else 0

    @property
    def broken(self) -> bool:
        return self._state is _BarrierState.BROKEN

    async def wait(self) -> int:
        """Wait for the others. Returns the position of this task among them, from 0."""
        async with self._condition:
            leaving = (_BarrierState.DRAINING, _BarrierState.RESETTING)
            await self._condition.wait_for(lambda: self._state not in leaving)
            if self.broken:
                raise BrokenBarrierError("the barrier was aborted")
            index = self._count
            self._count += 1
            try:
                await self._meet(index)
            finally:
                self._count -= 1
                self._leave()
        return index

    async def _meet(self, index: int) -> None:
        if index + 1 == self._parties:
            self._change(_BarrierState.DRAINING)
            return
        await self._condition.wait_for(lambda: self._state is not _BarrierState.FILLING)
        if self._state is not _BarrierState.DRAINING:
            raise BrokenBarrierError("the barrier was reset or aborted")

    def _leave(self) -> None:
        if self._count == 0:
            self._change(_BarrierState.BROKEN if self.broken else _BarrierState.FILLING)

    def _change(self, state: _BarrierState) -> None:
        self._state = state
        self._condition.notify_all()

    async def reset(self) -> None:
        """Start again; the current waiters get BrokenBarrierError."""
        async with self._condition:
            self._change(_BarrierState.RESETTING if self._count else _BarrierState.FILLING)

    async def abort(self) -> None:
        """Break it: current and later waiters get BrokenBarrierError."""
        async with self._condition:
            self._change(_BarrierState.BROKEN)

    async def __aenter__(self) -> int:
        return await self.wait()

    async def __aexit__(self, *_error: object) -> None:
        return None

    def __repr__(self) -> str:
        waiting = "" if self.broken else f", waiters:{self.n_waiting}/{self._parties}"
        return f"<Barrier [{self._state.value}{waiting}]>"
