"""`caps run` of a tiny file, from the shell, with no process running, and the time of its steps.

"Cold" means that no process is running. Modules are compiled in advance, as they are in every
installation, even if a variable keeps this process from writing bytecode.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path

from bench.figures import Comparison, Samples, median
from bench.interleaving import Contender, Progress, Rounds, Stopwatch, Turn, take_turns
from bench.peers import MONTY
from bench.rows import Effort, Row
from bench.sources import TINY

_GOAL_MICROSECONDS = 250_000.0
_MONTY = "monty, its command"
_PROCESS = "python -I -S"
_PHASES = Path(__file__).parents[1] / "sides" / "cold_phases.py"
_POLICY = '{"id": "bench", "allow": ["math.*"]}'
_MICROSECONDS = 1_000_000
_COSTLIEST = 8
_NEVER_COMPILED = "PYTHONDONTWRITEBYTECODE"


class _Workplace:
    """A directory with a program and a policy, and a new audit directory for each run."""

    def __init__(self, directory: str) -> None:
        self.program = Path(directory, "tiny.py")
        self.policy = Path(directory, "policy.json")
        self.program.write_text(TINY)
        self.policy.write_text(_POLICY)
        self._runs = 0

    def audit(self) -> Path:
        self._runs += 1
        return self.program.with_name(f"audit{self._runs}")

    def caps_run(self) -> list[str]:
        command = Path(sysconfig.get_path("scripts"), "caps")
        options = ["--policy", str(self.policy), "--audit", str(self.audit())]
        return [str(command), "run", str(self.program), *options]


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != _NEVER_COMPILED}


def _commands(
    command: Callable[[_Workplace], list[str]],
) -> Callable[[], AbstractAsyncContextManager[Turn]]:
    @asynccontextmanager
    async def opened() -> AsyncIterator[Turn]:
        with tempfile.TemporaryDirectory() as directory:
            place = _Workplace(directory)

            async def turn() -> float:
                arguments = command(place)
                with Stopwatch() as watch:
                    subprocess.run(arguments, check=True, capture_output=True, env=_environment())
                return watch.microseconds

            yield turn

    return opened


def _monty(place: _Workplace) -> list[str]:
    scripts = sysconfig.get_path("scripts")
    command = shutil.which("monty", path=scripts) or shutil.which("monty")
    if command is None:
        raise FileNotFoundError("its command is not installed")
    return [command, str(place.program)]


def _process(place: _Workplace) -> list[str]:
    return [sys.executable, "-I", "-S", str(place.program)]


def _parts(rounds: int) -> dict[str, float]:
    """The median time of each step; the time before and after them is the interpreter's."""
    steps: dict[str, list[float]] = {}
    wholes, started = [], "start and end the interpreter"
    with tempfile.TemporaryDirectory() as directory:
        place = _Workplace(directory)
        for _ in range(rounds):
            arguments = [str(_PHASES), str(place.program), str(place.policy), str(place.audit())]
            with Stopwatch() as watch:
                done = subprocess.run(
                    [sys.executable, "-P", *arguments],
                    check=True,
                    capture_output=True,
                    text=True,
                    env=_environment(),
                )
            before = 0.0
            for step, at in json.loads(done.stdout):
                steps.setdefault(step, []).append((at - before) * _MICROSECONDS)
                before = at
            wholes.append(watch.microseconds - before * _MICROSECONDS)
    return {started: median(wholes), **{step: median(times) for step, times in steps.items()}}


def _costliest_imports() -> str:
    """The packages whose modules take longest to import, from `-X importtime`."""
    with tempfile.TemporaryDirectory() as directory:
        command = _Workplace(directory).caps_run()
        done = subprocess.run(
            [sys.executable, "-X", "importtime", *command],
            check=True,
            capture_output=True,
            text=True,
            env=_environment(),
        )
    taken = imports_by_package(done.stderr)
    whole = sum(taken.values()) / 1000
    shown = ", ".join(f"{name} {us / 1000:.0f}" for name, us in taken.most_common(_COSTLIEST))
    return f"imports, in ms, {whole:.0f} in all with the clock on: {shown}"


def imports_by_package(output: str) -> Counter[str]:
    """Microseconds for each top-level package, from the lines of `-X importtime`."""
    taken: Counter[str] = Counter()
    for line in output.splitlines():
        head, _, rest = line.partition("import time:")
        fields = rest.split("|")
        if head or len(fields) != 3 or not fields[0].strip().isdigit():
            continue
        taken[fields[2].strip().partition(".")[0]] += int(fields[0])
    return taken


async def _cold(effort: Effort, progress: Progress) -> Samples:
    sides = (
        Contender("caps", _commands(_Workplace.caps_run)),
        Contender(_MONTY, _commands(_monty), MONTY),
        Contender(_PROCESS, _commands(_process)),
    )
    samples = await take_turns(
        sides, Rounds(effort.of(15, 1), effort.of(15, 1), warm_up=1), progress
    )
    parts = _parts(effort.of(5, 1))
    return replace(samples, parts=parts, notes=(_costliest_imports(),))


ROWS = (
    Row(
        name="cold_run",
        title="`caps run` of a tiny file, cold, from the shell",
        comparisons=(
            Comparison(name="cold_run", against="0.25 s", figure=_GOAL_MICROSECONDS, goal=1.0),
            Comparison(name="cold_run_vs_monty", against=_MONTY),
            Comparison(name="cold_run_vs_process", against=_PROCESS),
        ),
        measure=_cold,
    ),
)
