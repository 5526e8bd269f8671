"""Injection: the cost of granted capabilities for an execution that uses one of them.

A thousand capabilities are compared with one; the difference of two consecutive executions is one
sample.
"""

from __future__ import annotations

from contextlib import AsyncExitStack

from bench.figures import Comparison, Samples
from bench.interleaving import Progress, Rounds, Turn, until_quiet
from bench.rows import Effort, Row
from bench.sides.caps import timed_run
from bench.sides.granted import granting

_CODE = "caps.d0.f0\n1"
_MANY = 1000
_EACH_MICROSECONDS = 10.0
_ALL_MICROSECONDS = 5000.0
_ALL = "caps, a thousand"


async def _difference(one: Turn, many: Turn) -> float:
    await until_quiet()
    of_one = await one()
    await until_quiet()
    return await many() - of_one


async def _injection(effort: Effort, progress: Progress) -> Samples:
    rounds = Rounds(effort.of(60, 10), effort.of(20, 1.5))
    differences = []
    async with AsyncExitStack() as stack:
        few = await stack.enter_async_context(granting(1))
        lots = await stack.enter_async_context(granting(_MANY))
        one, many = (timed_run(each.runtime, lambda: _CODE) for each in (few, lots))
        for number in rounds.numbers(progress):
            taken = await _difference(one, many)
            if number >= 0:
                differences.append(taken)
    return Samples(
        values={
            "caps": [each / (_MANY - 1) for each in differences],
            _ALL: differences,
        }
    )


ROWS = (
    Row(
        name="injection",
        title="injection: one capability, and a thousand of them before user code starts",
        comparisons=(
            Comparison(name="injection", against="10 µs", figure=_EACH_MICROSECONDS, goal=1.0),
            Comparison(
                name="injection_thousand",
                ours=_ALL,
                against="5 ms",
                figure=_ALL_MICROSECONDS,
                goal=1.0,
            ),
        ),
        measure=_injection,
    ),
)
