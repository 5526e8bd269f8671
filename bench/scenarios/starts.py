"""Start to result: from passing the source to receiving the value, one execution at a time."""

from __future__ import annotations

from collections.abc import Callable

from bench.figures import Comparison, Samples
from bench.interleaving import Contender, Progress, Rounds, take_turns
from bench.peers import MONTY, SMOLAGENTS
from bench.rows import Effort, Row
from bench.sides import caps, monty, python_process, smolagents
from bench.sources import TINY, new_code

_REUSED = "monty, reused worker"
_FRESH = "monty, fresh worker"
_SESSION = "monty, open session"
_SMOLAGENTS = "smolagents"
_PROCESS = "python -I -S"


def _tiny() -> str:
    return TINY


def _others(code: Callable[[], str]) -> tuple[Contender, ...]:
    return (
        Contender(_FRESH, monty.checkouts(code, fresh=True), MONTY),
        Contender(_REUSED, monty.checkouts(code, fresh=False), MONTY),
        Contender(_SMOLAGENTS, smolagents.runs(code), SMOLAGENTS),
        Contender(_PROCESS, python_process.runs(code)),
    )


async def _seen(effort: Effort, progress: Progress) -> Samples:
    sides = (Contender("caps", caps.runs(_tiny)), *_others(_tiny))
    return await take_turns(sides, Rounds(effort.of(150, 12), effort.of(20, 2)), progress)


async def _new(effort: Effort, progress: Progress) -> Samples:
    sides = (Contender("caps", caps.runs(new_code)), *_others(new_code))
    return await take_turns(sides, Rounds(effort.of(150, 12), effort.of(20, 2)), progress)


async def _no_spare(effort: Effort, progress: Progress) -> Samples:
    sides = (
        Contender("caps", caps.runs_without_spares(new_code)),
        Contender(_FRESH, monty.checkouts(new_code, fresh=True), MONTY),
    )
    return await take_turns(sides, Rounds(effort.of(100, 12), effort.of(15, 1)), progress)


async def _cells(effort: Effort, progress: Progress) -> Samples:
    sides = (Contender("caps", caps.cells), Contender(_SESSION, monty.cells, MONTY))
    return await take_turns(
        sides, Rounds(effort.of(500, 30), effort.of(8, 1), settle=False), progress
    )


ROWS = (
    Row(
        name="start_seen",
        title="start to result, spare at hand, code seen before",
        comparisons=(
            Comparison(name="start_seen", against=_FRESH, goal=0.3),
            Comparison(name="start_seen_vs_monty_reused", against=_REUSED),
            Comparison(name="start_seen_vs_smolagents", against=_SMOLAGENTS),
            Comparison(name="start_seen_vs_process", against=_PROCESS),
        ),
        measure=_seen,
    ),
    Row(
        name="start_new",
        title="start to result, spare at hand, new code of 10 lines",
        comparisons=(
            Comparison(name="start_new", against=_FRESH, goal=0.5),
            Comparison(name="start_new_vs_monty_reused", against=_REUSED),
            Comparison(name="start_new_vs_smolagents", against=_SMOLAGENTS),
            Comparison(name="start_new_vs_process", against=_PROCESS),
        ),
        measure=_new,
    ),
    Row(
        name="start_no_spare",
        title="start to result, no spare at hand, new code of 10 lines",
        comparisons=(Comparison(name="start_no_spare", against=_FRESH, goal=1.5),),
        measure=_no_spare,
    ),
    Row(
        name="session_cell",
        title="REPL session, next cell",
        comparisons=(Comparison(name="session_cell", against=_SESSION, goal=2.3),),
        measure=_cells,
    ),
)
