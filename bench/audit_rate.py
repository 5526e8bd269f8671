"""Decisions per second: the audit log and a plain file writer, interleaved in one run.

The plain writer appends the same bytes to a file, one write each, and with `sync` one fdatasync
each; it has no chain, no lock and no callers that wait together. The ratio counts. The sample
record is defined here; the rows of the suite append it, too.

    .venv/bin/python bench/audit_rate.py [--rounds 5] [--seconds 0.5] [--directory DIR] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import anyio

from caps.security.audit import AuditLog, DecisionMade, Durability

CALLERS = (1, 64)
RECORD_BYTES = 662  # the size of `decision(1)` on disk, as the first record of its log


def decision(number: int) -> DecisionMade:
    """The record that the broker writes before call number `number` of an execution."""
    return DecisionMade(
        execution_id="0" * 32,
        principal="user:bench",
        request_id=f"r{number}",
        capability="files.read",
        decision="allow",
        reason="allowed",
        rule="files.read",
        message="allowed",
        policy_id="bench",
        policy_sha256="ab" * 32,
        args_hmac="hmac-sha256:" + "cd" * 32,
        shown={"path": "sandbox/notes.txt"},
        hidden={},
    )


def plain_line() -> bytes:
    """A line of the same length, for the plain writer."""
    return b"x" * (RECORD_BYTES - 1) + b"\n"


async def appended(directory: Path, durability: Durability, callers: int, seconds: float) -> float:
    """Appends per second, by concurrent tasks that each wait for their own record."""
    counts = [0] * callers
    record = decision(1)

    async def call(log: AuditLog, index: int, until: float) -> None:
        while time.perf_counter() < until:
            await log.append(record)
            counts[index] += 1

    async with AuditLog.open(directory, durability=durability) as log:
        began = time.perf_counter()
        async with anyio.create_task_group() as tasks:
            for index in range(callers):
                tasks.start_soon(call, log, index, began + seconds)
        return sum(counts) / (time.perf_counter() - began)


def plainly_written(path: Path, line: bytes, seconds: float, *, sync: bool) -> float:
    """Writes per second of a program that does nothing else."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    count, began = 0, time.perf_counter()
    while time.perf_counter() < began + seconds:
        os.write(fd, line)
        if sync:
            os.fdatasync(fd)
        count += 1
    rate = count / (time.perf_counter() - began)
    os.close(fd)
    return rate


def measure(place: Path, rounds: int, seconds: float) -> dict[str, float]:
    """The median rate of each contender; all of them take turns in every round."""
    line = plain_line()

    def log(durability: Durability, callers: int) -> Callable[[Path], float]:
        return lambda path: anyio.run(appended, path, durability, callers, seconds)

    def plain(*, sync: bool) -> Callable[[Path], float]:
        return lambda path: plainly_written(path, line, seconds, sync=sync)

    contenders = {
        f"caps, {durability.value}, {callers} callers": log(durability, callers)
        for durability in Durability
        for callers in CALLERS
    }
    contenders |= {
        "plain, write and fdatasync": plain(sync=True),
        "plain, write only": plain(sync=False),
    }
    rates: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(rounds):
        for number, (name, run) in enumerate(contenders.items()):
            rates[name].append(run(place / f"{turn}-{number}"))
    return {name: statistics.median(found) for name, found in rates.items()}


def print_table(rates: dict[str, float]) -> None:
    print(f"{'':32} {'per second':>12} {'of plain':>9}")
    for name, rate in rates.items():
        sync = "sync" in name
        base = rates["plain, write and fdatasync" if sync else "plain, write only"]
        print(f"{name:32} {rate:12,.0f} {rate / base:9.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--rounds", type=int, default=5, help="turns that each has; the median counts (default 5)"
    )
    parser.add_argument(
        "--seconds", type=float, default=0.5, help="how long a turn takes (default 0.5)"
    )
    parser.add_argument(
        "--directory",
        type=Path,
        metavar="DIR",
        help="a directory on the disk that is to be measured (default: that of temporary files)",
    )
    parser.add_argument("--json", action="store_true", help="print the rates as JSON, no table")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.directory) as place:
        rates = measure(Path(place), options.rounds, options.seconds)
    if options.json:
        print(json.dumps(rates))
    else:
        print_table(rates)


if __name__ == "__main__":
    main()
