"""Threads that executions and principals share fairly.

A thread cannot be stopped: when its caller gives up, it is abandoned, and counts towards the shares
until it ends.
"""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Generic, TypeVar

import anyio
import anyio.to_thread

from caps.worker.host.pool.fair_slots import FairSlots

T = TypeVar("T")


class ThreadShares:
    """Threads of one event loop."""

    def __init__(self, total: int, *, per_principal: int, per_execution: int) -> None:
        self._by_principal = FairSlots(total, per_principal)
        self._by_execution = FairSlots(2**63, per_execution)
        # The slots are the limit; the default limiter of anyio would be shared with others.
        self._unlimited = anyio.CapacityLimiter(math.inf)

    async def run(
        self, principal: str, execution_id: str, function: Callable[..., T], *arguments: Any
    ) -> T:
        """Run `function` in a thread, when the caller has one left. Cancelling abandons it."""
        await self._by_execution.acquire(execution_id)
        try:
            await self._by_principal.acquire(principal)
        except BaseException:
            self._by_execution.release(execution_id)
            raise

        def release() -> None:
            self._by_principal.release(principal)
            self._by_execution.release(execution_id)

        call = _ThreadCall(function, arguments, release)
        try:
            return await anyio.to_thread.run_sync(
                call.run, abandon_on_cancel=True, limiter=self._unlimited
            )
        finally:
            call.leave()


class _ThreadCall(Generic[T]):
    """One call in a thread. Whoever is last, the thread or its caller, releases the slots."""

    def __init__(
        self, function: Callable[..., T], arguments: tuple[Any, ...], release: Callable[[], None]
    ) -> None:
        self._function = function
        self._arguments = arguments
        self._release = release
        self._run_in_loop = _loop_scheduler()
        self._lock = threading.Lock()
        self._running = False
        self._left = False

    def run(self) -> T:
        """Runs in the thread."""
        with self._lock:
            if self._left:  # the caller gave up first: nothing may happen any more
                raise TimeoutError
            self._running = True
        try:
            return self._function(*self._arguments)
        finally:
            self._end()

    def _end(self) -> None:
        with self._lock:
            self._running = False
            is_last = self._left
        if is_last:
            with suppress(RuntimeError):  # the loop is closed, and its slots with it
                self._run_in_loop(self._release)

    def leave(self) -> None:
        """The caller waits no longer: it has the result, or it was cancelled."""
        with self._lock:
            self._left = True
            is_last = not self._running
        if is_last:
            self._release()


def _loop_scheduler() -> Callable[[Callable[[], None]], Any]:
    """What lets another thread run a function in this event loop."""
    try:
        return asyncio.get_running_loop().call_soon_threadsafe
    except RuntimeError:
        from trio.lowlevel import current_trio_token

        return current_trio_token().run_sync_soon
