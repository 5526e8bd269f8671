"""Compiled programs with real workers: who makes them, who gets them, unnoticed by code."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import anyio.lowlevel
import pytest

from caps import MemoryAuditLog, Runtime
from caps.worker.host.pool.pool import WorkerPool
from caps.worker.host.pool.program_cache import ProgramKey
from caps.worker.host.pool.spare import Spare

pytestmark = pytest.mark.anyio

PATIENCE_SECONDS = 60
FILENAME = "<agent>"


class Watched:
    """A runtime, the programs that it keeps, and the workers that compiled them."""

    def __init__(self, runtime: Runtime) -> None:
        assert runtime._opened is not None
        self.runtime = runtime
        self.pool: WorkerPool = runtime._opened.pool
        self.compilers: list[Spare] = []
        self._prepare = self.pool._compiler._prepare
        self.pool._compiler._prepare = self._prepared

    async def _prepared(self) -> Spare:
        self.compilers.append(await self._prepare())
        return self.compilers[-1]

    def program(self, source: str) -> bytes | None:
        """What is kept of `source`; None if nothing is said of it."""
        found = [
            program
            for key, program in self.pool._programs._programs.items()
            if (key.source, key.filename) == (source, FILENAME)
        ]
        return found[0] if found else None

    async def see_twice(self, source: str) -> None:
        """Run it until it is worth compiling, and wait for that."""
        for _ in range(2):
            await self.runtime.run(source)
        while self.program(source) is None:
            await anyio.lowlevel.checkpoint()


@asynccontextmanager
async def opened() -> AsyncIterator[Watched]:
    with anyio.fail_after(PATIENCE_SECONDS):
        async with Runtime({"limits": {"cpu_ms": 5000}}, audit=MemoryAuditLog()) as runtime:
            yield Watched(runtime)


async def test_code_that_was_seen_twice_runs_as_before() -> None:
    """Its result and its output are the same from the kept program."""
    source = (
        "import math\nprint('hello')\nasync def f(x):\n    return x * 2\nawait f(math.floor(21.5))"
    )
    async with opened() as watched:
        await watched.see_twice(source)
        assert watched.program(source)
        result = await watched.runtime.run(source)
        assert (result.value, result.stdout, result.ok) == (42, "hello\n", True)


async def test_code_that_was_seen_once_costs_no_compiler() -> None:
    """Most code is never seen again."""
    async with opened() as watched:
        for number in range(3):
            assert (await watched.runtime.run(f"{number}")).value == number
        assert watched.compilers == []


async def test_a_kept_program_shows_its_errors_with_the_users_own_lines() -> None:
    """Line, source line and message are those of the first run."""
    source = "def f(x):\n    return 1 // x\n\nf(0)"
    async with opened() as watched:
        first = await watched.runtime.run(source)
        await watched.see_twice(source)
        assert watched.program(source)
        again = await watched.runtime.run(source)
        assert first.error is not None
        assert again.error is not None
        assert again.error.traceback == first.error.traceback != ""
        assert again.error.message == first.error.message


@pytest.mark.parametrize("source", ["x = = 1", "from math import *", "__secret__ = 1"])
async def test_code_that_does_not_compile_says_the_same_every_time(source: str) -> None:
    """Nothing is kept of it: the worker that is to run it says what is wrong."""
    async with opened() as watched:
        first = await watched.runtime.run(source)
        await watched.see_twice(source)
        assert watched.program(source) == b""
        again = await watched.runtime.run(source)
        assert first.error is not None
        assert again.error == first.error
        assert (first.started, again.started) == (False, False)


async def test_each_source_is_compiled_by_a_process_of_its_own_that_is_gone_afterwards() -> None:
    """So that no source can leave anything for another."""
    async with opened() as watched:
        for number in range(3):
            await watched.see_twice(f"{number} + 1")
        workers = [spare.worker for spare in watched.compilers]
        assert len({id(worker) for worker in workers}) == 3
        assert all(worker.is_over for worker in workers)
        assert all(spare.connection.state.value == "done" for spare in watched.compilers)


async def test_what_is_filed_under_one_source_reaches_no_other() -> None:
    """Also if a wrong program were in the cache: it is used for its own source only."""
    async with opened() as watched:
        await watched.see_twice("'lie'")
        lie = watched.program("'lie'")
        assert lie
        (kept,) = [key for key in watched.pool._programs._programs if key.source == "'lie'"]
        watched.pool._programs.store(ProgramKey("'spoilt'", *kept[1:]), lie)
        assert (await watched.runtime.run("'spoilt'")).value == "lie"
        assert (await watched.runtime.run("'truth'")).value == "truth"


async def test_bytes_that_are_no_program_end_one_execution_and_nothing_else() -> None:
    """They are read in the worker alone."""
    async with opened() as watched:
        await watched.see_twice("1")
        (kept,) = [key for key in watched.pool._programs._programs if key.source == "1"]
        watched.pool._programs.store(ProgramKey("2", *kept[1:]), b"no program at all")
        spoilt = await watched.runtime.run("2")
        assert (spoilt.ok, spoilt.started) == (False, False)
        assert (await watched.runtime.run("1")).value == 1


async def test_a_session_shares_what_was_compiled_for_cells_of_the_same_name() -> None:
    """The first cell of many sessions is often the same."""
    async with opened() as watched:
        for _ in range(4):
            async with watched.runtime.session() as session:
                assert (await session.run("x = 20\nx + 1")).value == 21
                assert (await session.run("x + 2")).value == 22
