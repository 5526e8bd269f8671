"""(4) The `asyncio` that user space imports: chosen functions over our own loop."""

from __future__ import annotations

from collections.abc import Awaitable, Coroutine
from typing import Any

from caps.worker.inside.loop import (
    CancelledError,
    Future,
    InvalidStateError,
    Loop,
    Task,
    ensure_future,
)


class Concurrency:
    """The functions of `asyncio` that need a loop."""

    __slots__ = ("_loop",)

    def __init__(self, loop: Loop) -> None:
        self._loop = loop

    def names(self) -> dict[str, object]:
        """What `import asyncio` offers."""
        return {
            "CancelledError": CancelledError,
            "Future": Future,
            "InvalidStateError": InvalidStateError,
            "Task": Task,
            "TimeoutError": TimeoutError,
            "create_task": self.create_task,
            "gather": self.gather,
            "run": self.run,
            "sleep": self.sleep,
            "wait_for": self.wait_for,
        }

    def create_task(self, coroutine: Coroutine[Any, Any, Any], *, name: str | None = None) -> Task:
        """Start a coroutine; it runs while others wait."""
        del name  # accepted for asyncio's sake
        task = ensure_future(self._loop, coroutine)
        if not isinstance(task, Task):
            raise TypeError("create_task takes a coroutine")
        return task

    async def sleep(self, delay: float, result: Any = None) -> Any:
        """Let others run for `delay` seconds."""
        await self._loop.timer(max(0.0, float(delay)))
        return result

    def gather(self, *awaitables: Awaitable[Any], return_exceptions: bool = False) -> Task:
        """The results of all, in order; the first error is raised unless they are asked for."""
        futures = [ensure_future(self._loop, awaitable) for awaitable in awaitables]
        return self._loop.task(self._gathered(futures, return_exceptions))

    async def _gathered(self, futures: list[Future], return_exceptions: bool) -> list[Any]:
        try:
            failed = await _settled(self._loop, futures, stop_at_error=not return_exceptions)
        except CancelledError:
            await _cancel_all(self._loop, futures)
            raise
        if failed is not None:
            failed.result()
        return [
            future.result() if future.exception() is None else future.exception()
            for future in futures
        ]

    async def wait_for(
        self,
        fut: Awaitable[Any],
        timeout: float | None,  # noqa: ASYNC109 - asyncio's own signature
    ) -> Any:
        """The result, or TimeoutError after `timeout` seconds, the rest cancelled."""
        future = ensure_future(self._loop, fut)
        if timeout is None:
            return await future
        timer = self._loop.timer(max(0.0, float(timeout)))
        try:
            await _first(self._loop, [future, timer])
        except CancelledError:
            await _cancel_all(self._loop, [future])
            raise
        finally:
            timer.cancel()
        if future.done():
            return future.result()
        await _cancel_all(self._loop, [future])
        raise TimeoutError(f"not done after {timeout} seconds")

    def run(self, main: Coroutine[Any, Any, Any]) -> Any:
        """Run `main` to its end. Top-level `await` does the same."""
        return self._loop.run(ensure_future(self._loop, main))


async def _settled(loop: Loop, futures: list[Future], *, stop_at_error: bool) -> Future | None:
    """Wait until all are done, or until the first error if that ends it: the one that failed."""
    left = len(futures)
    if not left:
        return None
    settled = loop.future()

    def count(future: Future) -> None:
        nonlocal left
        left -= 1
        if stop_at_error and future.exception() is not None:
            settled._finish(future, None)
        elif left == 0:
            settled._finish(None, None)

    for future in futures:
        future.add_done_callback(count)
    failed: Future | None = await settled
    return failed


async def _cancel_all(loop: Loop, futures: list[Future]) -> None:
    """Cancel what is not done, and wait while it cleans up."""
    for future in futures:
        future.cancel()
    await _settled(loop, futures, stop_at_error=False)


async def _first(loop: Loop, futures: list[Future]) -> None:
    """Wait until one of them is done."""
    either = loop.future()
    for future in futures:
        future.add_done_callback(lambda _done: either._finish(None, None))
    await either
