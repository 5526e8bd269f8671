"""The soak test: thousands of executions, many concurrently, must leave nothing behind.

    .venv/bin/python bench/soak.py --executions 10000 --concurrent 64

Executions of every kind take turns: values, prints, capability calls, errors, a limit reached, a
caller that cancels. The resources of the host and the zygote are read before, during and after. The
script exits with 1 if anything leaked:

- processes and descriptors: as many after closing as before opening; with the last execution over
  and the runtime still open, no process but the zygote's two and `MAX_WORKERS`, and no zombie;
- memory: `MAX_GROWTH_KB` in the second half, in the host and in the zygote. By then caches, pools
  and metrics are filled, so that what grows after it grows with every execution.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from caps import Runtime, builtin_registry
from caps.worker.host.pool.pool import MAX_SPARES

MAX_GROWTH_KB = {"host": 2048, "zygote": 512}
MAX_WORKERS = MAX_SPARES + 1  # the pool's largest stock, and one that is being forked

POLICY = {"id": "soak", "allow": ["math.*"]}
SHORT_POLICY = {"id": "soak-short", "limits": {"wall_ms": 100}}
CANCEL_AFTER_SECONDS = 0.05
# A worker that is not reaped by then stays a zombie.
REAP_SECONDS = 20
# The zygote uses its first idle moments for a few warm-ups, which are not growth.
QUIET_SECONDS = 1.0
WARM_UP_SECONDS = 20

PROGRAMS = {
    "value": "sum(n * n for n in range(100))",
    "call": "print('adding')\n(await caps.math.add(a=2, b=3)).result",
    "gather": (
        "import asyncio\n"
        "await asyncio.gather(*(caps.math.multiply(a=n, b=n) for n in range(10)))\n"
        "print('x' * 10_000)"
    ),
    "error": "def f(n):\n    return 1 / n\nf(0)",
    "denied": "await caps.files.read(path='x')",
}
ENDLESS = "while True: pass"


@dataclass(frozen=True, slots=True)
class Reading:
    """The resources of the host at one moment."""

    descriptors: int
    processes: int
    zombies: int
    host_kb: int
    zygote_kb: int


@dataclass(slots=True)
class Soak:
    """One run: the number of executions done, how they ended, and the readings so far."""

    executions: int
    concurrent: int
    ended: Counter[str] = field(default_factory=Counter)
    on_the_way: dict[int, Reading] = field(default_factory=dict)
    done: int = 0

    async def run(self, directory: Path) -> tuple[Reading, Reading, float]:
        """Run all executions; return the readings before and after, and the seconds between."""
        before = read()
        async with Runtime(POLICY, registry=builtin_registry(), audit=directory) as runtime:
            short = await runtime.bind(SHORT_POLICY)
            await self._warmed_up()
            began = time.perf_counter()
            numbers = itertools.count()
            async with anyio.create_task_group() as tasks:
                for _ in range(self.concurrent):
                    tasks.start_soon(self._work, runtime, short, numbers)
            seconds = time.perf_counter() - began
            self.on_the_way[100] = await self._settled()
        return before, read(), seconds

    async def _warmed_up(self) -> None:
        """Wait until the idle zygote takes no more memory."""
        taken, since = read().zygote_kb, time.perf_counter()
        with anyio.move_on_after(WARM_UP_SECONDS):
            while time.perf_counter() - since < QUIET_SECONDS:
                await anyio.sleep(0.02)
                now = read().zygote_kb
                if now != taken:
                    taken, since = now, time.perf_counter()

    async def _settled(self) -> Reading:
        """The reading when all executions have ended and all workers are reaped."""
        with anyio.move_on_after(REAP_SECONDS):
            while read().zombies:  # noqa: ASYNC110 - the kernel has no event for it
                await anyio.sleep(0.01)
        return read()

    async def _work(self, runtime: Runtime, short: object, numbers: itertools.count[int]) -> None:
        kinds = tuple(PROGRAMS)
        for number in numbers:
            if number >= self.executions:
                return
            if number % 100 == 50:
                await self._cancelled(runtime)
            elif number % 100 == 99:
                await self._run(runtime, "endless", ENDLESS, policy=short)
            else:
                kind = kinds[number % len(kinds)]
                await self._run(runtime, kind, PROGRAMS[kind])
            self._progress()

    async def _run(self, runtime: Runtime, kind: str, source: str, **options: object) -> None:
        result = await runtime.run(source, **options)  # type: ignore[arg-type]
        self.ended[f"{kind}: {result.status.value}"] += 1

    async def _cancelled(self, runtime: Runtime) -> None:
        with anyio.move_on_after(CANCEL_AFTER_SECONDS):
            await runtime.run(ENDLESS)
        self.ended["cancelled"] += 1

    def _progress(self) -> None:
        self.done += 1
        percent = 100 * self.done // self.executions
        if percent % 10 == 0 and percent and percent not in self.on_the_way:
            reading = self.on_the_way[percent] = read()
            print(
                f"{percent:3}%  host {reading.host_kb} kB, zygote {reading.zygote_kb} kB, "
                f"{reading.descriptors} descriptors, {reading.processes} processes",
                flush=True,
            )


def read() -> Reading:
    """Read the state of this process and of all its descendants."""
    states = _descendants(os.getpid())
    # The zygote is the child of our only child, which entered the namespaces and waits.
    zygotes = [pid for pid, parent in _parents(states).items() if parent != os.getpid()][:1]
    return Reading(
        descriptors=len(list(Path("/proc/self/fd").iterdir())) - 1,
        processes=len(states),
        zombies=sum(state == "Z" for state, _ in states.values()),
        host_kb=_resident_kb(os.getpid()),
        zygote_kb=sum(_resident_kb(pid) for pid in zygotes),
    )


def _parents(states: dict[int, tuple[str, int]]) -> dict[int, int]:
    return {pid: parent for pid, (_, parent) in states.items()}


def _descendants(root: int) -> dict[int, tuple[str, int]]:
    """State and parent of every descendant of `root`, parents first."""
    everyone = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            everyone[int(entry.name)] = (fields[0], int(fields[1]))
    found: dict[int, tuple[str, int]] = {}
    layer = {root}
    while layer:
        layer = {pid for pid, (_, parent) in everyone.items() if parent in layer}
        found |= {pid: everyone[pid] for pid in sorted(layer)}
    return found


def _resident_kb(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 1024


def leaks(before: Reading, half: Reading, end: Reading, after: Reading) -> list[str]:
    """What leaked, one line each."""
    found = []
    for what in ("processes", "descriptors"):
        left = getattr(after, what) - getattr(before, what)
        if left > 0:
            found.append(f"{left} {what} left after closing")
    if end.processes > 2 + MAX_WORKERS:
        found.append(f"{end.processes} processes at the end, more than zygote and spares")
    if end.zombies or after.zombies:
        found.append(f"{end.zombies} zombies at the end, {after.zombies} after closing")
    for whose, most in MAX_GROWTH_KB.items():
        grown = getattr(end, f"{whose}_kb") - getattr(half, f"{whose}_kb")
        if grown > most:
            found.append(f"the {whose} grew by {grown} kB from 50% to the end; {most} are allowed")
    return found


def report(soak: Soak, before: Reading, after: Reading, seconds: float) -> list[str]:
    """Print the figures, and return what leaked."""
    at = soak.on_the_way
    print(f"\nexecutions    {soak.done} in {seconds:.1f} s, {soak.concurrent} at the same time")
    print(f"executions/s  {soak.done / seconds:.1f}")
    for what in ("processes", "descriptors"):
        first, last, left = (getattr(reading, what) for reading in (before, at[100], after))
        print(f"{what:14}{first} before, {last} at the end, {left} after closing")
    print(f"zombies       {at[100].zombies} at the end, {after.zombies} after closing")
    for whose in MAX_GROWTH_KB:
        figures = ", ".join(f"{getattr(at[p], f'{whose}_kb')} kB at {p}%" for p in (10, 50, 100))
        print(f"{whose + ' memory':14}{figures}")
    for how, count in sorted(soak.ended.items()):
        print(f"  {how:24} {count}")
    found = leaks(before, at[50], at[100], after)
    for line in found:
        print(f"LEAKED: {line}")
    print("leaked something" if found else "nothing leaked")
    return found


def main() -> None:
    """Parse the arguments, run and report; return 1 if anything leaked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--executions", type=int, default=10_000, help="how many in all (default 10000)"
    )
    parser.add_argument(
        "--concurrent", type=int, default=64, help="how many at the same time (default 64)"
    )
    chosen = parser.parse_args()
    soak = Soak(chosen.executions, chosen.concurrent)

    async def everything() -> tuple[Reading, Reading, float]:
        with tempfile.TemporaryDirectory() as directory:
            return await soak.run(Path(directory) / "audit")

    sys.exit(1 if report(soak, *anyio.run(everything)) else 0)


if __name__ == "__main__":
    main()
