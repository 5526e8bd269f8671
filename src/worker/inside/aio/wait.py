"""(4) `sleep`, `wait_for`, `wait` and `shield`: waiting for time or for futures."""

from __future__ import annotations

import types
from collections.abc import Awaitable, Callable, Generator, Iterable
from typing import Any

from caps.worker.inside.aio.errors import CancelledError
from caps.worker.inside.aio.futures import Future, current_loop
from caps.worker.inside.aio.gather import reject_single
from caps.worker.inside.aio.loop import ensure_future
from caps.worker.inside.aio.timeouts import timeout as time_limit

FIRST_COMPLETED = "FIRST_COMPLETED"
FIRST_EXCEPTION = "FIRST_EXCEPTION"
ALL_COMPLETED = "ALL_COMPLETED"


@types.coroutine
def _next_turn() -> Generator[None, None, None]:
    yield


async def sleep(delay: float, result: Any = None) -> Any:
    """Let other tasks run for `delay` seconds."""
    if delay > 0:
        await current_loop().timer(float(delay))
    else:
        await _next_turn()
    return result


async def wait_for(fut: Awaitable[Any], timeout: float | None) -> Any:  # noqa: ASYNC109 - asyncio's
    """The result. After `timeout` seconds, cancel it and raise TimeoutError."""
    if timeout is None or timeout > 0:
        async with time_limit(timeout):
            return await fut
    future = ensure_future(fut)
    if not future.done():
        await _cancel_and_wait(future)
    try:
        return future.result()
    except CancelledError as error:
        raise TimeoutError from error


async def _cancel_and_wait(future: Future) -> None:
    """Cancel it, and wait while it cleans up. This does not await the future itself: that would
    hide whether this wait was cancelled or the future."""
    waiter = Future()
    wake = _waker(waiter)
    future.add_done_callback(wake)
    try:
        future.cancel()
        await waiter
    finally:
        future.remove_done_callback(wake)


def _waker(waiter: Future) -> Callable[[object], None]:
    return lambda _done: waiter._finish(None, None)


async def wait(
    fs: Iterable[Future],
    *,
    timeout: float | None = None,  # noqa: ASYNC109 - asyncio's own signature
    return_when: str = ALL_COMPLETED,
) -> tuple[set[Future], set[Future]]:
    """The futures that are done and those that are not, as soon as `return_when` holds."""
    reject_single(fs)
    futures = set(fs)
    if not futures:
        raise ValueError("there is nothing to wait for")
    if return_when not in (FIRST_COMPLETED, FIRST_EXCEPTION, ALL_COMPLETED):
        raise ValueError(f"`{return_when}` is not a valid condition to wait for")
    if not all(isinstance(future, Future) for future in futures):
        raise TypeError("wait takes tasks and futures; use create_task for coroutines")
    await _wait_until(futures, timeout, return_when)
    done = {future for future in futures if future.done()}
    return done, futures - done


async def _wait_until(futures: set[Future], seconds: float | None, condition: str) -> None:
    waiter = Future()
    left = len(futures)

    def count(future: Future) -> None:
        nonlocal left
        left -= 1
        failed = not future.cancelled() and future._error is not None
        if left == 0 or condition == FIRST_COMPLETED or (condition == FIRST_EXCEPTION and failed):
            waiter._finish(None, None)

    limit = None if seconds is None else current_loop().call_after(seconds, _waker(waiter), None)
    for future in futures:
        future.add_done_callback(count)
    try:
        await waiter
    finally:
        if limit is not None:
            limit.cancel()
        for future in futures:
            future.remove_done_callback(count)


def shield(arg: Awaitable[Any]) -> Future:
    """The result of `arg`, which continues even if this wait is cancelled."""
    inner = ensure_future(arg)
    if inner.done():
        return inner
    outer = Future()

    def pass_on(inner: Future) -> None:
        if inner.cancelled():
            outer.cancel()
            return
        error = inner.exception()
        if not outer.done():
            outer._finish(inner._value if error is None else None, error)

    def detach(_outer: Future) -> None:
        inner.remove_done_callback(pass_on)

    inner.add_done_callback(pass_on)
    outer.add_done_callback(detach)
    return outer
