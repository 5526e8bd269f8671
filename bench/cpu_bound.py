"""CPU-bound user code in a locked-down worker beside plain CPython, interleaved in one run.

Each program in `programs/` is run by both in turn, as the same text; it times its own `main`, in
CPU time. What counts is the ratio of the medians; the times themselves belong to the machine.

    python bench/cpu_bound.py [--rounds 7] [--json]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

from caps import MemoryAuditLog, Runtime

PROGRAMS = Path(__file__).parent / "programs"
GOAL = 1.10
HARNESS = """
import time
_times = []
for _ in range(5):
    _began = time.process_time()
    _value = main()
    _times.append(time.process_time() - _began)
print(repr(_value))
print(min(_times))
"""
POLICY = {"allow": [], "limits": {"wall_ms": 60_000, "cpu_ms": 60_000}}


def plain(source: str) -> tuple[str, float]:
    """What plain Python gives, and how long it took."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", source], capture_output=True, text=True, check=True
    )
    return _told(done.stdout)


def in_a_worker(runtime: Runtime, source: str) -> tuple[str, float]:
    """The same in a worker."""
    result = runtime.run_sync(source)
    result.unwrap()
    return _told(result.stdout)


def _told(printed: str) -> tuple[str, float]:
    value, seconds = printed.strip().splitlines()[-2:]
    return value, float(seconds)


def measure(rounds: int) -> dict[str, dict[str, float]]:
    """For each program the medians and their ratio."""
    found = {}
    with Runtime(POLICY, audit=MemoryAuditLog()) as runtime:
        for path in sorted(PROGRAMS.glob("*.py")):
            source = path.read_text() + HARNESS
            times: tuple[list[float], list[float]] = ([], [])
            for number in range(rounds):
                print(f"\r{path.stem}: {number + 1}/{rounds}  ", end="", file=sys.stderr)
                first, second = plain(source), in_a_worker(runtime, source)
                if first[0] != second[0]:
                    sys.exit(f"{path.stem}: {second[0]} in a worker, {first[0]} in plain Python")
                times[0].append(first[1])
                times[1].append(second[1])
            print("\r", end="", file=sys.stderr)
            medians = [statistics.median(each) for each in times]
            found[path.stem] = {
                "plain_ms": round(medians[0] * 1000, 3),
                "caps_ms": round(medians[1] * 1000, 3),
                "ratio": round(medians[1] / medians[0], 3),
            }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    found = measure(asked.rounds)
    if asked.json:
        print(json.dumps(found, indent=2))
        return
    print(f"{'program':16} {'plain ms':>10} {'caps ms':>10} {'ratio':>7}  goal {GOAL}")
    for name, one in found.items():
        met = "met" if one["ratio"] <= GOAL else "missed"
        print(
            f"{name:16} {one['plain_ms']:10.2f} {one['caps_ms']:10.2f} {one['ratio']:7.2f}  {met}"
        )


if __name__ == "__main__":
    main()
