"""The language layer: the cost of checking and compiling fifty lines, alone and in an execution.

`caps` is our compiler alone, against unmodified RestrictedPython. `caps, code seen before` is what
the fifty lines add to an execution, compared with a tiny program, when both ran before: with a
cache, little more than the time to run them. Meeting one of the two is enough for the goal.
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from bench.figures import Comparison, Samples
from bench.interleaving import (
    Contender,
    CpuStopwatch,
    Progress,
    Rounds,
    Turn,
    take_turns,
    until_quiet,
)
from bench.peers import RESTRICTEDPYTHON
from bench.rows import Effort, Row
from bench.sides.caps import open_runtime, timed_run
from bench.sources import FIFTY_LINES, TINY
from caps.worker.inside.language.compiler import compile_source

_STOCK = "RestrictedPython, stock"
_PLAIN = "compile()"
_SEEN = "caps, code seen before"
_TIMES = 5
_numbers = itertools.count()


def _compiling(work: Callable[[str], Any]) -> Turn:
    async def turn() -> float:
        sources = [f"{FIFTY_LINES}# {next(_numbers)}\n" for _ in range(_TIMES)]
        with CpuStopwatch() as watch:
            for source in sources:
                work(source)
        return watch.microseconds / _TIMES

    return turn


@asynccontextmanager
async def _ours() -> AsyncIterator[Turn]:
    yield _compiling(compile_source)


@asynccontextmanager
async def _stock() -> AsyncIterator[Turn]:
    from RestrictedPython.compile import compile_restricted

    yield _compiling(lambda source: compile_restricted(source, "<agent>", "exec"))


@asynccontextmanager
async def _plain() -> AsyncIterator[Turn]:
    yield _compiling(lambda source: compile(source, "<agent>", "exec"))


@asynccontextmanager
async def _seen() -> AsyncIterator[Turn]:
    async with open_runtime() as runtime:
        tiny = timed_run(runtime, lambda: TINY)
        fifty = timed_run(runtime, lambda: FIFTY_LINES)

        async def turn() -> float:
            of_tiny = await tiny()
            await until_quiet()
            return max(await fifty() - of_tiny, 0.0)

        yield turn


async def _compile(effort: Effort, progress: Progress) -> Samples:
    sides = (
        Contender("caps", _ours),
        Contender(_STOCK, _stock, RESTRICTEDPYTHON),
        Contender(_PLAIN, _plain),
        Contender(_SEEN, _seen),
    )
    return await take_turns(sides, Rounds(effort.of(60, 8), effort.of(15, 1.5)), progress)


ROWS = (
    Row(
        name="compile",
        title="compiling 50 lines, or not having to: either is enough",
        comparisons=(
            Comparison(name="compile_50", against=_STOCK, goal=0.5),
            Comparison(
                name="compile_50_seen",
                ours=_SEEN,
                against=_STOCK,
                goal=0.5,
                alternative_to="compile_50",
            ),
            Comparison(name="compile_50_vs_plain", against=_PLAIN),
        ),
        measure=_compile,
    ),
)
