"""smolagents' LocalPythonExecutor: a syntax-tree interpreter in the host's own process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from bench.interleaving import Stopwatch, Turn


def runs(code: Callable[[], str]) -> Callable[[], AbstractAsyncContextManager[Turn]]:
    """A new executor for each program, because programs in one executor share their variables."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Turn]:
        from smolagents import LocalPythonExecutor

        async def turn() -> float:
            source = code()
            with Stopwatch() as watch:
                executor = LocalPythonExecutor([])
                executor.send_tools({})
                executor(source)
            return watch.microseconds

        yield turn

    return opened
