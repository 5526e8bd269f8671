"""pydantic-monty: a Python interpreter written in Rust, in subprocesses of a pool.

Its synchronous API is used where there is a choice, because it is faster. `reused` is a checkout of
a worker that served others before; `fresh` allows a worker one checkout, so that each checkout gets
its own process, which is what Caps always does.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from bench.interleaving import Stopwatch, Turn

_LIMITS = {"max_suspensions": 1_000_000_000}


def add(a: int, b: int) -> dict[str, int]:
    """The same as the capability of this name."""
    return {"result": a + b}


async def add_async(a: int, b: int) -> dict[str, int]:
    return {"result": a + b}


def checkouts(
    code: Callable[[], str], *, fresh: bool
) -> Callable[[], AbstractAsyncContextManager[Turn]]:
    """Checkout, run, return."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Turn]:
        from pydantic_monty import Monty

        most = 1 if fresh else None
        with Monty(min_processes=1, max_processes=1, max_checkouts_per_worker=most) as pool:

            async def turn() -> float:
                source = code()
                with Stopwatch() as watch, pool.checkout() as session:
                    session.feed_run(source)
                return watch.microseconds

            yield turn

    return opened


@asynccontextmanager
async def cells() -> AsyncIterator[Turn]:
    """The next feed of an open session."""
    from pydantic_monty import Monty

    with Monty(min_processes=1, max_processes=1) as pool, pool.checkout() as session:

        async def turn() -> float:
            with Stopwatch() as watch:
                session.feed_run("x = 2\ny = 3\nx * y")
            return watch.microseconds

        yield turn


def times_itself(code: str) -> Callable[[], AbstractAsyncContextManager[Turn]]:
    """Code that calls `add` and whose result is the time of the call, in microseconds."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Turn]:
        from pydantic_monty import Monty

        with (
            Monty(min_processes=1, max_processes=1) as pool,
            pool.checkout(limits=_LIMITS) as session,
        ):

            async def turn() -> float:
                return float(session.feed_run(code, external_lookup={"add": add}))

            yield turn

    return opened


def times_itself_async(code: str) -> Callable[[], AbstractAsyncContextManager[Turn]]:
    """The same with a coroutine on the host, which `gather` needs."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Turn]:
        from pydantic_monty import AsyncMonty

        async with (
            AsyncMonty(min_processes=1, max_processes=1) as pool,
            pool.checkout(limits=_LIMITS) as session,
        ):

            async def turn() -> float:
                return float(await session.feed_run(code, external_lookup={"add": add_async}))

            yield turn

    return opened
