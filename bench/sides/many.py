"""Many executions, each in a fresh process, as fast as possible.

A turn ends when the machine is quiet again: the time includes refilling a pool's stock, so a large
stock is not an advantage.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import anyio
import anyio.to_thread

from bench.interleaving import Stopwatch, Turn, until_quiet
from bench.sides.caps import open_runtime

_AT_ONCE = 4  # two for each of two cores: while one waits, the other works


def by_caps(
    how_many: int, code: Callable[[], str]
) -> Callable[[], AbstractAsyncContextManager[Turn]]:
    """The time of one of `how_many` executions."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Turn]:
        async with open_runtime() as runtime:

            async def work(sources: Iterator[str]) -> None:
                for source in sources:
                    (await runtime.run(source)).unwrap()

            async def turn() -> float:
                sources = iter([code() for _ in range(how_many)])
                with Stopwatch() as watch:
                    async with anyio.create_task_group() as tasks:
                        for _ in range(_AT_ONCE):
                            tasks.start_soon(work, sources)
                    await until_quiet()
                return watch.microseconds / how_many

            yield turn

    return opened


def by_monty(
    how_many: int, code: Callable[[], str]
) -> Callable[[], AbstractAsyncContextManager[Turn]]:
    """The same with monty, from the same number of threads; each worker serves one checkout."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Turn]:
        from pydantic_monty import Monty

        with Monty(min_processes=1, max_processes=_AT_ONCE, max_checkouts_per_worker=1) as pool:

            def work(sources: list[str]) -> None:
                for source in sources:
                    with pool.checkout() as session:
                        session.feed_run(source)

            async def turn() -> float:
                sources = [code() for _ in range(how_many)]
                with Stopwatch() as watch:
                    async with anyio.create_task_group() as tasks:
                        for first in range(_AT_ONCE):
                            share = sources[first::_AT_ONCE]
                            tasks.start_soon(anyio.to_thread.run_sync, work, share)
                    await until_quiet()
                return watch.microseconds / how_many

            yield turn

    return opened
