"""The private memory (USS) of an idle spare: pages that no other process shares."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from bench.figures import Comparison, Samples, Unit
from bench.interleaving import Progress, Rounds, descendants, until_quiet
from bench.peers import MONTY
from bench.rows import Effort, Row
from bench.sides.caps import open_runtime

# From Python 3.12 on, objects of the zygote are immortal, and fewer pages are copied.
_GOAL_MEGABYTES = 1.6 if sys.version_info >= (3, 12) else 2.5
_MONTY = "monty, idle worker"
_PROCESS = "python -I -S, idle"
_KILOBYTES = 1024


_FORBIDDEN = "the memory of workers may only be looked at by root here; run it as root"


def uss_megabytes(pid: int) -> float:
    """The private memory of a process. Raises PermissionError for a process of another user."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    private = (line.split()[1] for line in lines if line.startswith("Private_"))
    return sum(map(int, private)) / _KILOBYTES


async def _of_spares(rounds: Rounds, progress: Progress) -> list[float]:
    """Memory of the spares: processes that existed before an execution and that it used."""
    found = []
    async with open_runtime() as runtime:
        for _ in rounds.numbers(progress):
            await until_quiet()
            before = _held_by(descendants(os.getpid()))
            (await runtime.run("1")).unwrap()
            await until_quiet()
            after = descendants(os.getpid())
            found += [held for pid, held in before.items() if pid not in after]
    return found


def _held_by(processes: Iterable[int]) -> dict[int, float]:
    held = {}
    for pid in processes:
        with suppress(FileNotFoundError, ProcessLookupError):  # it exited while we read it
            held[pid] = uss_megabytes(pid)
    return held


def _of_monty() -> float:
    from pydantic_monty import Monty

    with Monty(min_processes=1, max_processes=1) as pool, pool.checkout() as session:
        session.feed_run("1")
        pid = session.worker_pid
        if pid is None:
            raise RuntimeError("monty does not say which process its worker is")
        return uss_megabytes(pid)


def _of_python() -> float:
    command = [sys.executable, "-I", "-S", "-c", "print(flush=True); input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        held = uss_megabytes(process.pid)
        process.communicate(b"\n")
    return held


async def _memory(effort: Effort, progress: Progress) -> Samples:
    rounds = Rounds(effort.of(20, 5), effort.of(8, 1), warm_up=0)
    values: dict[str, list[float]] = {_PROCESS: [_of_python()]}
    skipped: dict[str, str] = {}
    try:
        values["caps"] = await _of_spares(rounds, progress)
    except PermissionError:
        skipped["caps"] = _FORBIDDEN
    if MONTY.missing is None:
        values[_MONTY] = [_of_monty()]
    else:
        skipped[_MONTY] = MONTY.missing
    return Samples(values=values, skipped=skipped)


ROWS = (
    Row(
        name="idle_spare",
        title="idle spare, memory of its own",
        comparisons=(
            Comparison(
                name="idle_spare",
                against=f"{_GOAL_MEGABYTES} MB",
                figure=_GOAL_MEGABYTES,
                goal=1.0,
            ),
            Comparison(name="idle_spare_vs_monty", against=_MONTY),
            Comparison(name="idle_spare_vs_process", against=_PROCESS),
        ),
        measure=_memory,
        unit=Unit.MEGABYTES,
    ),
)
