"""Threads for blocking work: each execution and each principal has a share of them.

Plain providers run in one set of threads, the runtime's own work in another one that no provider
can use. A thread cannot be stopped: when its caller gives up, it is abandoned, and counts towards
the shares until it ends. So slow providers hold up their own caller, and nobody else.
"""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Generic, TypeVar

import anyio
import anyio.lowlevel
import anyio.to_thread

from caps.worker.host.pool.fair_slots import FairSlots

T = TypeVar("T")

PROVIDER_THREADS = 256
PROVIDER_THREADS_PER_PRINCIPAL = 64
PROVIDER_THREADS_PER_EXECUTION = 16
_RUNTIME_THREADS = 16
_RUNTIME_THREADS_PER_PRINCIPAL = 4


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


# One set for each event loop: its runtimes share it.
_provider_threads = anyio.lowlevel.RunVar[ThreadShares]("caps_provider_threads")
_runtime_threads = anyio.lowlevel.RunVar[ThreadShares]("caps_runtime_threads")


async def run_in_provider_thread(
    principal: str, execution_id: str, function: Callable[..., T], *arguments: Any
) -> T:
    """Run a provider, or blocking work of one, in a thread of its caller's share."""
    threads = _provider_threads.get(None)
    if threads is None:
        threads = ThreadShares(
            PROVIDER_THREADS,
            per_principal=PROVIDER_THREADS_PER_PRINCIPAL,
            per_execution=PROVIDER_THREADS_PER_EXECUTION,
        )
        _provider_threads.set(threads)
    return await threads.run(principal, execution_id, function, *arguments)


async def run_in_runtime_thread(
    principal: str, execution_id: str, function: Callable[..., T], *arguments: Any
) -> T:
    """Run the runtime's own work for an execution in a thread that no provider can take."""
    threads = _runtime_threads.get(None)
    if threads is None:
        threads = ThreadShares(
            _RUNTIME_THREADS,
            per_principal=_RUNTIME_THREADS_PER_PRINCIPAL,
            per_execution=_RUNTIME_THREADS_PER_PRINCIPAL,
        )
        _runtime_threads.set(threads)
    return await threads.run(principal, execution_id, function, *arguments)
