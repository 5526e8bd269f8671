"""(8) Waking tasks from the thread that writes: a few lines for each kind of event loop.

Every record pays for its way into the thread and back. What anyio offers for it (events, worker
threads, limiters) works on every loop at several times the price, so this asks the loop itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol


class Waiters(Protocol):
    """Those who wait for one thing, all in one event loop."""

    def wait(self) -> Awaitable[object]:
        """Ends with `wake`, and when the task that waits is cancelled: the others wait on."""
        ...

    def wake(self) -> None:
        """Ends the waiting, for all. Called in the loop."""
        ...

    def are_here(self) -> bool:
        """Whether it is their loop that runs here, so that what runs here may wait with them."""
        ...

    def soon(self, act: Callable[[], object]) -> None:
        """Has the loop call `act`, after the tasks that can run now. Called in the loop."""
        ...

    def from_thread(self, act: Callable[[], object]) -> None:
        """Has the loop call `act`. Raises `RuntimeError` if the loop is over."""
        ...


def waiters_here() -> Waiters:
    """For tasks of the loop that runs here."""
    try:
        task = asyncio.current_task()
    except RuntimeError:
        task = None
    return _TrioWaiters() if task is None else _AsyncioWaiters(task.get_loop())


class _AsyncioWaiters:
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        # One for each: a task that is cancelled cancels what it waits for.
        self._futures: list[asyncio.Future[None]] = []

    def wait(self) -> Awaitable[object]:
        future: asyncio.Future[None] = self._loop.create_future()
        self._futures.append(future)
        return future

    def wake(self) -> None:
        for future in self._futures:
            if not future.done():
                future.set_result(None)

    def are_here(self) -> bool:
        try:
            return asyncio.get_running_loop() is self._loop
        except RuntimeError:
            return False

    def soon(self, act: Callable[[], object]) -> None:
        self._loop.call_soon(act)

    def from_thread(self, act: Callable[[], object]) -> None:
        self._loop.call_soon_threadsafe(act)


class _TrioWaiters:
    def __init__(self) -> None:
        import trio

        self._token = trio.lowlevel.current_trio_token()
        self._event = trio.Event()

    def wait(self) -> Awaitable[object]:
        return self._event.wait()

    def wake(self) -> None:
        self._event.set()

    def are_here(self) -> bool:
        import trio

        try:
            return trio.lowlevel.current_trio_token() is self._token
        except RuntimeError:
            return False

    def soon(self, act: Callable[[], object]) -> None:
        self._token.run_sync_soon(act)

    def from_thread(self, act: Callable[[], object]) -> None:
        self._token.run_sync_soon(act)
