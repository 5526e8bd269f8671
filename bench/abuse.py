"""One caller abuses the host while another works: how much memory it costs, and how long they wait.

    .venv/bin/python -m bench.abuse                        # every case, a few seconds each
    .venv/bin/python -m bench.abuse --case list --abusers 8 --rounds 3
    .venv/bin/python -m bench.abuse --case frames --rounds 2500 --seconds 900

Each case runs in a separate host process, with a real runtime, real workers and an audit log on
disk. `--abusers` executions do what the case says, `--rounds` times and for at least `MIN_SECONDS`,
under default limits. An honest session calls `math.add` all the while and times each call itself.
The script prints:

- `peak`: how much the resident memory of the host grew at most, over its value before the abuse,
  and the same for each abuser;
- `left`: how much of that is still held a moment after the abuse, and `trim`: how much of it after
  the C library was made to return what is free;
- `p50`, `p99` and `max`: of the honest calls, next to the 99th percentile without abuse;
- `turn`: the most processor time that the event loop took for one turn, in which no other was
  served. Unlike the others it does not depend on what else the machine does;
- `load`: the load average of the machine at the end of the case.

It exits with 1 if a case holds more than `MAX_GROWTH_MB` for each abuser, leaves more than
`MAX_LEFT_MB`, or keeps an honest call waiting for more than `--max-wait-ms` (no bound by default:
it depends on the machine).
"""

from __future__ import annotations

import argparse
import ctypes
import functools
import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio

from bench.abuse_cases import (
    CASES,
    FLOOD_ATTACKS,
    FLOODS,
    FRAME_ATTACKS,
    FRAMES,
    HONEST,
    STREAMED,
)
from caps import CapabilityRegistry, ExecutionResult, MemoryAuditLog, Runtime, builtin_registry
from caps.capabilities.runtime.stream import Finished, Started

ROOT = Path(__file__).parents[1]

MAX_GROWTH_MB = 64
MAX_LEFT_MB = 32
CASE_SECONDS = 120
MIN_SECONDS = 3.0
SETTLE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Figures:
    """What one case cost."""

    case: str
    abusers: int
    before_mb: float
    peak_mb: float
    left_mb: float
    trimmed_mb: float
    quiet_p99_ms: float
    p50_ms: float
    p99_ms: float
    max_ms: float
    turn_ms: float
    calls: int
    seconds: float
    cpu_seconds: float
    load: float
    ended: dict[str, int]

    def faults(self, max_wait_ms: float) -> list[str]:
        """Each bound that it broke, in one line."""
        found = []
        if self.peak_mb > MAX_GROWTH_MB * self.abusers:
            found.append(f"the host grew by {self.peak_mb:.0f} MB")
        if self.left_mb > MAX_LEFT_MB * max(1.0, self.abusers / 4):
            found.append(f"{self.left_mb:.0f} MB are still held afterwards")
        if self.max_ms > max_wait_ms:
            found.append(f"an honest call waited {self.max_ms:.0f} ms")
        return found


class Abuse:
    """One case in this process."""

    def __init__(
        self, case: str, abusers: int, rounds: int, seconds: float, directory: Path
    ) -> None:
        self.case, self.abusers, self.rounds, self.seconds = case, abusers, rounds, seconds
        self.directory = directory
        self.waits: list[float] = []
        self.ended: dict[str, int] = {}
        self.turn = 0.0

    async def run(self) -> Figures:
        audit: Any = self.directory / "audit"
        async with Runtime(
            self._policy(), registry=_registry(), audit=audit, max_workers=self.abusers + 4
        ) as runtime:
            await self._warm_up(runtime)
            quiet, self.waits = self.waits, []
            gc.collect()
            before = _memory_mb("VmRSS")
            _reset_peak()
            began, cpu = time.perf_counter(), time.process_time()
            with anyio.move_on_after(self.seconds):
                await self._abuse(runtime)
            seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
            peak = _memory_mb("VmHWM")
            await anyio.sleep(SETTLE_SECONDS)
            left = _memory_mb("VmRSS")
            ctypes.CDLL(None).malloc_trim(0)
            trimmed = _memory_mb("VmRSS")
        return Figures(
            case=self.case,
            abusers=self.abusers,
            before_mb=before,
            peak_mb=peak - before,
            left_mb=left - before,
            trimmed_mb=trimmed - before,
            quiet_p99_ms=_percentile(quiet, 99),
            p50_ms=_percentile(self.waits, 50),
            p99_ms=_percentile(self.waits, 99),
            max_ms=max(self.waits, default=0.0) * 1000,
            turn_ms=self.turn * 1000,
            calls=len(self.waits),
            seconds=seconds,
            cpu_seconds=cpu,
            load=os.getloadavg()[0],
            ended=self.ended,
        )

    def _policy(self) -> dict[str, Any]:
        files = self.directory / "files"
        files.mkdir()
        for number in range(9_990):
            (files / f"name-{number:05}").touch()
        (files / "sub").mkdir()
        (files / "large").write_bytes(b"x" * (1024 * 1024))
        return {
            "id": "abuse",
            "allow": ["math.*", "files.list", "files.read", "probe.*"],
            "scopes": {"files": {"allowlist": [str(files)]}},
        }

    async def _warm_up(self, runtime: Runtime) -> None:
        """Fill the caches: what the first executions of a host cost is not of the abuser."""
        for _ in range(3):
            await runtime.run("print(1)\nawait caps.files.read(path='large')\n[1.5]")
        async with runtime.session() as session:
            for _ in range(5):
                self.waits += (await session.run(HONEST)).unwrap()

    async def _abuse(self, runtime: Runtime) -> None:
        async with anyio.create_task_group() as honest:
            honest.start_soon(self._work, runtime)
            honest.start_soon(self._watch_turns)
            async with anyio.create_task_group() as abusers:
                for _ in range(self.abusers):
                    abusers.start_soon(self._repeat, runtime)
            honest.cancel_scope.cancel()

    async def _repeat(self, runtime: Runtime) -> None:
        until, done = time.monotonic() + MIN_SECONDS, 0
        while done < self.rounds or time.monotonic() < until:
            # Nothing else of the result is kept: its value is the caller's, and can be large.
            how = (await self._abuse_once(runtime, done)).status.value
            done += 1
            self.ended[how] = self.ended.get(how, 0) + 1

    async def _abuse_once(self, runtime: Runtime, done: int) -> ExecutionResult:
        if self.case == FRAMES:
            return await _hostile(FRAME_ATTACKS[done % len(FRAME_ATTACKS)])
        if self.case == FLOODS:
            return await _hostile(FLOOD_ATTACKS[done % len(FLOOD_ATTACKS)])
        if self.case == STREAMED:
            return await _unread(runtime, CASES["mixed"])
        return await runtime.run(CASES[self.case])

    async def _watch_turns(self) -> None:
        """What the loop does while this waits for a millisecond, it does before anything else."""
        while True:
            began = time.thread_time()
            await anyio.sleep(0.001)
            self.turn = max(self.turn, time.thread_time() - began)

    async def _work(self, runtime: Runtime) -> None:
        while True:
            async with runtime.session() as session:
                for _ in range(40):  # under `limits.calls`
                    self.waits += (await session.run(HONEST)).unwrap()


def _registry() -> CapabilityRegistry:
    registry = builtin_registry()

    @registry.capability("probe.any")
    async def any_(value: Any) -> bool:
        return value is None

    @registry.capability("probe.number")
    async def number(value: int) -> int:
        return value

    @registry.capability("probe.much")
    def much(items: int) -> list[float]:
        return [0.5] * items

    @registry.capability("probe.text")
    async def text(characters: int) -> str:
        return "x" * characters

    return registry


@functools.cache
def _frames_registry() -> CapabilityRegistry:
    return builtin_registry()  # once: making it takes longer than a turn may


async def _unread(runtime: Runtime, source: str) -> ExecutionResult:
    """Stream an execution to a reader that takes the first event, and the others at the end."""
    async for event in runtime.stream(source):
        match event:
            case Started():
                await anyio.sleep(1)
            case Finished(result):
                return result
    raise RuntimeError("a stream ends with its result")


async def _hostile(name: str) -> ExecutionResult:
    """One attack on the channel, by a worker that is wholly in the attacker's hands."""
    from escape.attacks import HERE
    from support.command_workers import CommandWorkerSource

    (attack,) = [attack for attack in _channel_attacks() if attack.name == name]
    worker, when = str(HERE / "hostile_worker.py"), attack.mark("when") or "after_start"
    workers = CommandWorkerSource((sys.executable, "-I", worker, str(attack.path), when))
    policy = {"id": "hostile", "allow": ["math.*"]}
    async with Runtime(
        policy, registry=_frames_registry(), audit=MemoryAuditLog(), workers=workers
    ) as runtime:
        return await runtime.run("f" * 32)


@functools.cache
def _channel_attacks() -> list[Any]:
    from escape.attacks import attacks_on

    return list(attacks_on("channel"))


def _memory_mb(field: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"this kernel does not report {field}")


def _reset_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")  # VmHWM starts again at VmRSS


def _percentile(seconds: list[float], percent: int) -> float:
    """In milliseconds."""
    if not seconds:
        return 0.0
    ordered = sorted(seconds)
    return 1000 * ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


def measure(case: str, abusers: int, rounds: int, seconds: float = CASE_SECONDS) -> Figures:
    """Run one case in a separate process."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "bench.abuse",
            "--inner",
            case,
            *map(str, (abusers, rounds, seconds)),
        ],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=seconds + CASE_SECONDS,
    )
    return Figures(**json.loads(done.stdout))


def _inner(case: str, abusers: str, rounds: str, seconds: str) -> None:
    sys.path.insert(0, str(ROOT / "tests"))  # hostile workers are part of the tests

    async def run() -> Figures:
        with tempfile.TemporaryDirectory() as directory:
            abuse = Abuse(case, int(abusers), int(rounds), float(seconds), Path(directory))
            return await abuse.run()

    figures = anyio.run(run)
    print(json.dumps({name: getattr(figures, name) for name in Figures.__slots__}))


def main() -> None:
    """Parse the arguments, run the cases, print a line for each; exit with 1 at a broken bound."""
    if sys.argv[1:2] == ["--inner"]:
        _inner(*sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    names = [*CASES, STREAMED, FRAMES, FLOODS]
    parser.add_argument("--case", action="append", choices=names, help="only this one; repeatable")
    parser.add_argument(
        "--abusers", type=int, default=1, help="how many at the same time (default 1)"
    )
    parser.add_argument("--rounds", type=int, default=2, help="how often each (default 2)")
    parser.add_argument("--seconds", type=float, default=CASE_SECONDS, help="for each case")
    parser.add_argument("--max-wait-ms", type=float, default=float("inf"))
    chosen = parser.parse_args()
    broken = False
    print(
        f"{'case':14} {'peak MB':>8} {'each':>5} {'left':>5} {'trim':>5} {'quiet p99':>9}", end=""
    )
    print(f" {'p50 ms':>7} {'p99 ms':>7} {'max ms':>7} {'turn ms':>7} {'calls':>6}", end="")
    print(f" {'cpu s':>6} {'wall s':>6} {'load':>5}  ended")
    for case in chosen.case or names:
        f = measure(case, chosen.abusers, chosen.rounds, chosen.seconds)
        each = f.peak_mb / f.abusers
        memory = f"{f.case:14} {f.peak_mb:8.0f} {each:5.0f} {f.left_mb:5.0f} {f.trimmed_mb:5.0f}"
        waits = f"{f.quiet_p99_ms:9.1f} {f.p50_ms:7.1f} {f.p99_ms:7.1f} {f.max_ms:7.1f}"
        costs = f"{f.turn_ms:7.1f} {f.calls:6} {f.cpu_seconds:6.1f} {f.seconds:6.1f} {f.load:5.1f} "
        print(memory, waits, costs, f.ended)
        sys.stdout.flush()
        for fault in f.faults(chosen.max_wait_ms):
            broken = True
            print(f"    {fault}")
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
