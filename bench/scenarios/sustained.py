"""Executions per second on two cores, each in a fresh, confined process."""

from __future__ import annotations

from collections.abc import Callable

from bench.figures import Comparison, Form, Samples
from bench.interleaving import Contender, Progress, Rounds, take_turns
from bench.peers import MONTY
from bench.rows import Effort, Row
from bench.sides import many
from bench.sources import new_code

_FRESH = "monty, fresh workers"
_SEEN = new_code()


def _seen() -> str:
    return _SEEN


async def _sustained(code: Callable[[], str], effort: Effort, progress: Progress) -> Samples:
    how_many = effort.of(200, 40)
    sides = (
        Contender("caps", many.by_caps(how_many, code)),
        Contender(_FRESH, many.by_monty(how_many, code), MONTY),
    )
    return await take_turns(
        sides,
        Rounds(effort.of(10, 2), effort.of(20, 2), warm_up=effort.of(1, 0), fewest=2),
        progress,
    )


async def _with_new_code(effort: Effort, progress: Progress) -> Samples:
    return await _sustained(new_code, effort, progress)


async def _with_seen_code(effort: Effort, progress: Progress) -> Samples:
    return await _sustained(_seen, effort, progress)


ROWS = (
    Row(
        name="sustained_new",
        title="fresh process per execution, sustained, new code (time of one)",
        comparisons=(Comparison(name="sustained_new", against=_FRESH, goal=0.6, form=Form.RATE),),
        measure=_with_new_code,
    ),
    Row(
        name="sustained_seen",
        title="fresh process per execution, sustained, code seen before (time of one)",
        comparisons=(Comparison(name="sustained_seen", against=_FRESH, goal=0.8, form=Form.RATE),),
        measure=_with_seen_code,
    ),
)
