"""CPU-bound user code: what the language layer costs once the code runs."""

from __future__ import annotations

from pathlib import Path

from bench.figures import Comparison, Samples
from bench.interleaving import Contender, Progress, Rounds, take_turns
from bench.peers import MONTY, RESTRICTEDPYTHON, SMOLAGENTS
from bench.rows import Effort, Row
from bench.sides import cpu

_PROGRAMS = Path(__file__).parents[1] / "programs"
_GOAL = 1.10

PLAIN = "plain CPython"
_MONTY = "monty"
_SMOLAGENTS = "smolagents"
_RESTRICTED = "RestrictedPython, stock"


def _row(path: Path) -> Row:
    source = path.read_text()
    name = f"cpu_{path.stem}"

    async def measure(effort: Effort, progress: Progress) -> Samples:
        sides = [
            Contender("caps", cpu.by_caps(source)),
            Contender(PLAIN, cpu.by_plain(source)),
            Contender(_MONTY, cpu.by_monty(source), MONTY),
            Contender(_RESTRICTED, cpu.by_restrictedpython(source), RESTRICTEDPYTHON),
        ]
        if effort is Effort.FULL:
            smol = Contender(_SMOLAGENTS, cpu.by_smolagents(source), SMOLAGENTS, most_turns=1)
            sides.append(smol)
        samples = await take_turns(tuple(sides), Rounds(effort.of(9, 2), warm_up=1), progress)
        if effort is Effort.QUICK:
            skipped = {**samples.skipped, _SMOLAGENTS: "smolagents takes too long for a quick run"}
            samples = Samples(values=samples.values, skipped=skipped)
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
