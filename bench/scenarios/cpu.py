"""CPU-bound user code: the cost of the language layer while the code runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bench.figures import Comparison, Samples
from bench.interleaving import Contender, Progress, Rounds, take_turns
from bench.peers import MONTY, RESTRICTEDPYTHON, SMOLAGENTS
from bench.rows import Effort, Row
from bench.sides import cpu

_PROGRAMS = Path(__file__).parents[1] / "programs"
_GOAL = 1.10
_PEERS_TURNS = 2  # their ratios are large, so few samples are enough; ours needs many
_BEST_OF = 5  # consecutive turns for one sample: the machine may be slow for longer than one turn
_MIN_ROUNDS = 20  # even if the slowest peer has used up the time of the row

PLAIN = "plain CPython"
_MONTY = "monty"
_SMOLAGENTS = "smolagents"
_RESTRICTED = "RestrictedPython, stock"


def best_of(turns: Sequence[float]) -> list[float]:
    """The shortest of each group of consecutive turns; the last group may be smaller."""
    return [min(turns[start : start + _BEST_OF]) for start in range(0, len(turns), _BEST_OF)]


def _row(path: Path) -> Row:
    source = path.read_text()
    name = f"cpu_{path.stem}"

    async def measure(effort: Effort, progress: Progress) -> Samples:
        program = cpu.repeated(source, effort.of(0.08, 0.05))
        sides: tuple[Contender, ...] = (
            Contender("caps", cpu.by_caps(program)),
            Contender(PLAIN, cpu.by_plain(program)),
            Contender(_MONTY, cpu.by_monty(program), MONTY, most_turns=_PEERS_TURNS),
            Contender(
                _RESTRICTED,
                cpu.by_restrictedpython(program),
                RESTRICTEDPYTHON,
                most_turns=_PEERS_TURNS,
            ),
        )
        slow = cpu.by_smolagents(cpu.once(source))
        if effort is Effort.FULL:
            sides = (*sides, Contender(_SMOLAGENTS, slow, SMOLAGENTS, most_turns=1))
        samples = await take_turns(
            sides,
            Rounds(effort.of(60, 1), effort.of(11, 1), warm_up=0, fewest=effort.of(_MIN_ROUNDS, 1)),
            progress,
        )
        samples = replace(
            samples, values={name: best_of(turns) for name, turns in samples.values.items()}
        )
        if effort is Effort.QUICK:
            skipped = {**samples.skipped, _SMOLAGENTS: "smolagents takes too long for a quick run"}
            samples = replace(samples, skipped=skipped)
        return samples

    others = {"monty": _MONTY, "restrictedpython": _RESTRICTED, "smolagents": _SMOLAGENTS}
    return Row(
        name=name,
        title=f"CPU-bound user code, {path.stem.replace('_', ' ')}",
        comparisons=(
            Comparison(name=name, against=PLAIN, goal=_GOAL),
            *(
                Comparison(name=f"{name}_{key}", ours=side, against=PLAIN)
                for key, side in others.items()
            ),
        ),
        measure=measure,
    )


ROWS = tuple(_row(path) for path in sorted(_PROGRAMS.glob("*.py")))
