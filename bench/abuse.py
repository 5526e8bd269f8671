"""One caller abuses the host while another works: how much memory it costs, and how long they wait.

    .venv/bin/python bench/abuse.py                        # every case, a few seconds each
    .venv/bin/python bench/abuse.py --case list --abusers 8 --rounds 3

Each case runs in a separate host process, with a real runtime, real workers and an audit log on
disk. `--abusers` executions do what the case says, `--rounds` times, under default limits. An
honest session calls `math.add` all the while and times each call itself. The script prints:

- `peak`: how much the resident memory of the host grew at most, over its value before the abuse;
- `left`: how much of that is still held a moment after the abuse;
- `p99` and `max`: of the honest calls, next to the same without abuse;
- `turn`: the most processor time that the event loop took for one turn, in which no other was
  served. Unlike the others it does not depend on what else the machine does.

It exits with 1 if a case holds more than `MAX_GROWTH_MB` for each abuser, leaves more than
`MAX_LEFT_MB`, or keeps an honest call waiting for more than `--max-wait-ms` (no bound by default:
it depends on the machine).
"""

from __future__ import annotations

import argparse
import functools
import gc
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio

from caps import CapabilityRegistry, MemoryAuditLog, Runtime, builtin_registry

ROOT = Path(__file__).parents[1]

MAX_GROWTH_MB = 64
MAX_LEFT_MB = 32
CASE_SECONDS = 120
SETTLE_SECONDS = 1.0

# A path of 4,000 characters that means the directory itself.
_LONG = "'sub/../' * 570"
_MANY = """import asyncio
await asyncio.gather(*({call} for _ in range({count})), return_exceptions=True)
"""

CASES = {
    "list": _MANY.format(call=f"caps.files.list(path={_LONG})", count=64),
    "list_full": _MANY.format(call="caps.files.list(path='.')", count=64),
    "read": _MANY.format(call="caps.files.read(path='large')", count=64),
    "print_small": (
        "import sys\nfor _ in range(200_000):\n    print('x', end='')\n    sys.stdout.flush()"
    ),
    "print_wide": "print('\\U0001F600' * 262_000)",
    "print_huge": "print('x' * 50_000_000)",
    "result_large": "['x' * 40] * 90_000",
    "result_text": "'x' * 15_000_000 + '\\U0001F600'",
    "items_list": "v = [[]] * 90_000\n" + _MANY.format(call="caps.probe.any(value=v)", count=64),
    "items_floats": "v = [0.5] * 90_000\n" + _MANY.format(call="caps.probe.any(value=v)", count=16),
    "items_keys": _MANY.format(
        call="caps.probe.any(value=dict.fromkeys(map('k{{}}'.format, range(49_000))))", count=18
    ),
    "items_names": (
        "v = dict.fromkeys(map('\\u00e9{}'.format, range(49_000)), 0.5)\n"
        + _MANY.format(call="caps.probe.any(value=v)", count=18)
    ),
    "items_refused": _MANY.format(call="caps.probe.number(value=[[1.5]] * 49_000)", count=18),
    "text": (
        "v = 'x' * 7_000_000 + '\\U0001F600'\n"
        + _MANY.format(call="caps.probe.any(value=v)", count=6)
    ),
    "answers": _MANY.format(call="caps.probe.much(items=90_000)", count=64),
    "calls": _MANY.format(call="caps.math.add(a=1, b=2)", count=900),
}
FRAMES = "frames"
# Attacks on the channel that send much; each round runs every one of them once.
FRAME_ATTACKS = (
    "oversized/payload_items",
    "oversized/payload_bottomless",
    "oversized/largest_output",
    "oversized/fields",
    "oversized/number",
    "garbage/result_that_claims_items",
    "truncated/payload_items",
    "floods/requests_unanswered",
    "floods/frames_of_nothing",
    "floods/empty_output",
)

HONEST = """
import asyncio, time
waits = []
for _ in range(20):
    began = time.perf_counter()
    await caps.math.add(a=2, b=3)
    waits.append(time.perf_counter() - began)
    await asyncio.sleep(0.002)
waits
"""


@dataclass(frozen=True, slots=True)
class Figures:
    """What one case cost."""

    case: str
    abusers: int
    before_mb: float
    peak_mb: float
    left_mb: float
    quiet_p99_ms: float
    p99_ms: float
    max_ms: float
    turn_ms: float
    calls: int
    seconds: float
    cpu_seconds: float
    ended: dict[str, int]

    def faults(self, max_wait_ms: float) -> list[str]:
        """Each bound that it broke, in one line."""
        found = []
        if self.peak_mb > MAX_GROWTH_MB * self.abusers:
            found.append(f"the host grew by {self.peak_mb:.0f} MB")
        if self.left_mb > MAX_LEFT_MB:
            found.append(f"{self.left_mb:.0f} MB are still held afterwards")
        if self.max_ms > max_wait_ms:
            found.append(f"an honest call waited {self.max_ms:.0f} ms")
        return found


class Abuse:
    """One case in this process."""

    def __init__(self, case: str, abusers: int, rounds: int, directory: Path) -> None:
        self.case, self.abusers, self.rounds = case, abusers, rounds
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
            with anyio.move_on_after(CASE_SECONDS):
                await self._abuse(runtime)
            seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
            peak = _memory_mb("VmHWM")
            await anyio.sleep(SETTLE_SECONDS)
            left = _memory_mb("VmRSS")
        return Figures(
            case=self.case,
            abusers=self.abusers,
            before_mb=before,
            peak_mb=peak - before,
            left_mb=left - before,
            quiet_p99_ms=_percentile(quiet, 99),
            p99_ms=_percentile(self.waits, 99),
            max_ms=max(self.waits, default=0.0) * 1000,
            turn_ms=self.turn * 1000,
            calls=len(self.waits),
            seconds=seconds,
            cpu_seconds=cpu,
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
        for _ in range(self.rounds):
            result = await (_hostile() if self.case == FRAMES else runtime.run(CASES[self.case]))
            how = result.status.value
            self.ended[how] = self.ended.get(how, 0) + 1

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

    return registry


@functools.cache
def _frames_registry() -> CapabilityRegistry:
    return builtin_registry()  # once: making it takes longer than a turn may


async def _hostile() -> Any:
    """Each attack of `FRAME_ATTACKS`, by a worker that is wholly in the attacker's hands."""
    from escape.attacks import HERE, attacks_on
    from support.command_workers import CommandWorkerSource

    chosen, registry = {a.name: a for a in attacks_on("channel")}, _frames_registry()
    result = None
    for name in FRAME_ATTACKS:
        attack = chosen[name]
        when = attack.mark("when") or "after_start"
        worker = str(HERE / "hostile_worker.py")
        workers = CommandWorkerSource((sys.executable, "-I", worker, str(attack.path), when))
        policy = {"id": "hostile", "allow": ["math.*"]}
        async with Runtime(
            policy, registry=registry, audit=MemoryAuditLog(), workers=workers
        ) as runtime:
            result = await runtime.run("f" * 32)
    return result


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


def measure(case: str, abusers: int, rounds: int) -> Figures:
    """Run one case in a separate process."""
    done = subprocess.run(
        [sys.executable, __file__, "--inner", case, str(abusers), str(rounds)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=2 * CASE_SECONDS,
    )
    return Figures(**json.loads(done.stdout))


def _inner(case: str, abusers: str, rounds: str) -> None:
    sys.path.insert(0, str(ROOT / "tests"))  # hostile workers are part of the tests

    async def run() -> Figures:
        with tempfile.TemporaryDirectory() as directory:
            return await Abuse(case, int(abusers), int(rounds), Path(directory)).run()

    figures = anyio.run(run)
    print(json.dumps({name: getattr(figures, name) for name in Figures.__slots__}))


def main() -> None:
    """Parse the arguments, run the cases, print a line for each; exit with 1 at a broken bound."""
    if sys.argv[1:2] == ["--inner"]:
        _inner(*sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    names = [*CASES, FRAMES]
    parser.add_argument("--case", action="append", choices=names, help="only this one; repeatable")
    parser.add_argument(
        "--abusers", type=int, default=1, help="how many at the same time (default 1)"
    )
    parser.add_argument("--rounds", type=int, default=2, help="how often each (default 2)")
    parser.add_argument("--max-wait-ms", type=float, default=float("inf"))
    chosen = parser.parse_args()
    broken = False
    print(f"{'case':14} {'peak MB':>8} {'left MB':>8} {'quiet p99':>9} {'p99 ms':>8}", end="")
    print(f" {'max ms':>8} {'turn ms':>8} {'calls':>6} {'host cpu s':>10} {'wall s':>7}  ended")
    for case in chosen.case or names:
        f = measure(case, chosen.abusers, chosen.rounds)
        memory = f"{f.case:14} {f.peak_mb:8.0f} {f.left_mb:8.0f}"
        waits = f"{f.quiet_p99_ms:9.1f} {f.p99_ms:8.1f} {f.max_ms:8.1f} {f.turn_ms:8.1f}"
        print(memory, waits, f"{f.calls:6} {f.cpu_seconds:10.1f} {f.seconds:7.1f} ", f.ended)
        sys.stdout.flush()
        for fault in f.faults(chosen.max_wait_ms):
            broken = True
            print(f"    {fault}")
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
