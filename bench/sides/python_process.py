"""A bare interpreter for each program: `python -I -S`, without limits or restrictions."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from bench.interleaving import Stopwatch, Turn


def runs(code: Callable[[], str]) -> Callable[[], AbstractAsyncContextManager[Turn]]:
    """Spawn, run, wait."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Turn]:
        async def turn() -> float:
            command = [sys.executable, "-I", "-S", "-c", code()]
            with Stopwatch() as watch:
                subprocess.run(command, check=True)
            return watch.microseconds

        yield turn

    return opened
