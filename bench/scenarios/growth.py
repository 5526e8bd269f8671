"""Growth: the cost of an execution, a call and a record after ten thousand executions,
and with a thousand capabilities granted.

A runtime that has done all that work takes turns with one that was just opened, so that a machine
that slowed down in the meantime does not look like growth.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

import anyio

from bench.audit_rate import decision
from bench.figures import Comparison, Samples, median
from bench.interleaving import Progress, Rounds, Stopwatch, until_quiet
from bench.rows import Effort, Row
from bench.sides.granted import Granted, granting

NEW = ", new runtime"

_FLAT = 1.25
_AT_ONCE = 8
_MAX_SECONDS = 90
_CALLS = 50
_START = "caps.d0.f0\n1"
_CALL = f"""\
import time
began = time.perf_counter()
for _ in range({_CALLS}):
    await caps.d0.f0(path="x", limit=3)
(time.perf_counter() - began) * 1_000_000 / {_CALLS}
"""


async def _start(side: Granted) -> float:
    with Stopwatch() as watch:
        (await side.runtime.run(_START)).unwrap()
    return watch.microseconds


async def _call(side: Granted) -> float:
    return float((await side.runtime.run(_CALL)).unwrap())


async def _audit(side: Granted) -> float:
    with Stopwatch() as watch:
        for number in range(_CALLS):
            await side.audit.append(decision(number))
    return watch.microseconds / _CALLS


_WORK: dict[str, Callable[[Granted], Awaitable[float]]] = {
    "start": _start,
    "call": _call,
    "audit": _audit,
}


@dataclass(slots=True)
class Ages:
    """Samples of each kind of work, by runtime."""

    found: dict[tuple[str, str], list[float]] = field(default_factory=dict)

    async def sample(self, sides: dict[str, Granted], rounds: Rounds, progress: Progress) -> None:
        """Every runtime does each kind of work in turn."""
        for number in rounds.numbers(progress):
            for kind, work in _WORK.items():
                for name, side in sides.items():
                    await until_quiet()
                    taken = await work(side)
                    if number >= 0:
                        self.found.setdefault((kind, name), []).append(taken)


async def _bulk(side: Granted, how_many: int, deadline: float) -> int:
    """Run tiny programs concurrently; return how many there was time for."""
    numbers = iter(range(how_many))
    done = 0

    async def work(numbers: Iterator[int]) -> None:
        nonlocal done
        for _ in numbers:
            if time.monotonic() > deadline:
                return
            (await side.runtime.run(_START)).unwrap()
            done += 1

    async with anyio.create_task_group() as tasks:
        for _ in range(_AT_ONCE):
            tasks.start_soon(work, numbers)
    return done


def _ignore_progress(*_: int) -> None:
    """Ignore the progress of the samples: the executions between them are the progress."""


async def _executions(effort: Effort, progress: Progress) -> Samples:
    marks = effort.of((1, 10, 100, 1000, 10_000), (1, 10, 40))
    rounds = Rounds(effort.of(15, 2), effort.of(10, 0.5), warm_up=1, fewest=1)
    series: dict[str, list[tuple[float, float]]] = {}
    deadline = time.monotonic() + _MAX_SECONDS
    done, ages = 0, Ages()
    async with granting(1) as old:
        for mark in marks:
            progress(done, marks[-1])
            done += await _bulk(old, mark - done, deadline)
            ages = Ages()
            async with granting(1) as new:
                await ages.sample({"old": old, "new": new}, rounds, _ignore_progress)
            for (kind, age), taken in ages.found.items():
                name = kind if age == "old" else f"{kind}{NEW}"
                series.setdefault(name, []).append((done, median(taken)))
            done += 2 * (1 + len(ages.found["start", "old"]))  # a start and calls, in each round
            if time.monotonic() > deadline:
                break
    progress(marks[-1], marks[-1])
    values = {f"{kind}, {age}": taken for (kind, age), taken in ages.found.items()}
    note = f"`old` had run {series['start'][-1][0]:.0f} executions before the last samples"
    return Samples(values=values, series=series, notes=(note,))


async def _capabilities(effort: Effort, progress: Progress) -> Samples:
    sizes = (1, 10, 100, 1000)
    rounds = Rounds(effort.of(20, 2), effort.of(20, 1), warm_up=1, fewest=1)
    ages = Ages()
    async with AsyncExitStack() as stack:
        sides = {str(n): await stack.enter_async_context(granting(n)) for n in sizes}
        await ages.sample(sides, rounds, progress)
    series = {kind: [(float(n), median(ages.found[kind, str(n)])) for n in sizes] for kind in _WORK}
    values = {f"{kind}, {size} granted": taken for (kind, size), taken in ages.found.items()}
    return Samples(values=values, series=series)


ROWS = (
    Row(
        name="growth_executions",
        title="cost as work grows, 1 to 10,000 executions",
        comparisons=tuple(
            Comparison(
                name=f"growth_executions_{kind}",
                ours=f"{kind}, old",
                against=f"{kind}, new",
                goal=_FLAT,
            )
            for kind in _WORK
        ),
        measure=_executions,
    ),
    Row(
        name="growth_capabilities",
        title="cost as work grows, 1 to 1,000 capabilities granted",
        comparisons=tuple(
            Comparison(
                name=f"growth_capabilities_{kind}",
                ours=f"{kind}, 1000 granted",
                against=f"{kind}, 1 granted",
                # The goal of `injection` limits what a thousand capabilities may add to a start.
                goal=None if kind == "start" else _FLAT,
            )
            for kind in _WORK
        ),
        measure=_capabilities,
    ),
)
