"""The audit log with durability `sync`: 64 callers share their syncs, a plain writer cannot."""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import anyio

from bench.audit_rate import decision, plain_line
from bench.figures import Comparison, Form, Samples
from bench.interleaving import (
    Contender,
    ProcessStopwatch,
    Progress,
    Rounds,
    Stopwatch,
    Turn,
    take_turns,
)
from bench.rows import Effort, Row
from bench.sides.caps import open_runtime
from caps import AuditLog, Durability

_PLAIN = "one fdatasync per record"
_CALLS = "caps, 64 calls of one execution"
_GOAL_CPU_MICROSECONDS = 15.0
_CALLERS = 64
_RECORDS_OF_A_CALL = 2

_AT_ONCE = """\
import asyncio, time
began = time.perf_counter()
for _ in range({rounds}):
    await asyncio.gather(*[caps.math.add(a=2, b=3) for _ in range(64)])
(time.perf_counter() - began) * 1_000_000 / {rounds}
"""


def _callers(
    each: int, watch_of: type[Stopwatch] = Stopwatch
) -> Callable[[], AbstractAsyncContextManager[Turn]]:
    """The time of one record when 64 tasks append `each`."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Turn]:
        with tempfile.TemporaryDirectory() as directory:
            async with AuditLog.open(Path(directory), durability=Durability.SYNC) as log:

                async def caller(number: int) -> None:
                    for _ in range(each):
                        await log.append(decision(number))

                async def turn() -> float:
                    with watch_of() as watch:
                        async with anyio.create_task_group() as tasks:
                            for number in range(_CALLERS):
                                tasks.start_soon(caller, number)
                    return watch.microseconds / (each * _CALLERS)

                yield turn

    return opened


def _calls(rounds: int) -> Callable[[], AbstractAsyncContextManager[Turn]]:
    """The time of one record when an execution makes 64 concurrent calls."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Turn]:
        async with open_runtime(durability=Durability.SYNC) as runtime:

            async def turn() -> float:
                result = await runtime.run(_AT_ONCE.format(rounds=rounds))
                return float(result.unwrap()) / (_CALLERS * _RECORDS_OF_A_CALL)

            yield turn

    return opened


def _plain(times: int) -> Callable[[], AbstractAsyncContextManager[Turn]]:
    """A record of the same length, written and synced before the next: no chain, no checks."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Turn]:
        with tempfile.TemporaryDirectory() as directory, Path(directory, "log").open("ab") as file:
            line = plain_line()

            async def turn() -> float:
                with Stopwatch() as watch:
                    for _ in range(times):
                        os.write(file.fileno(), line)
                        os.fdatasync(file.fileno())
                return watch.microseconds / times

            yield turn

    return opened


async def _synced(effort: Effort, progress: Progress) -> Samples:
    sides = (
        Contender("caps", _callers(effort.of(40, 10))),
        Contender(_PLAIN, _plain(effort.of(100, 40))),
        Contender(_CALLS, _calls(effort.of(10, 3))),
    )
    return await take_turns(
        sides, Rounds(effort.of(25, 4), effort.of(15, 1.5), warm_up=1), progress
    )


async def _synced_cpu(effort: Effort, progress: Progress) -> Samples:
    sides = (Contender("caps", _callers(effort.of(40, 10), ProcessStopwatch)),)
    return await take_turns(sides, Rounds(effort.of(25, 4), effort.of(8, 1), warm_up=1), progress)


ROWS = (
    Row(
        name="audit_sync_64",
        title="64 callers with durability `sync` (time of one record)",
        comparisons=(
            Comparison(name="audit_sync_64", against=_PLAIN, goal=15, form=Form.RATE),
            Comparison(name="audit_sync_64_calls", ours=_CALLS, against=_PLAIN, form=Form.RATE),
        ),
        measure=_synced,
    ),
    Row(
        name="audit_cpu_64",
        title="64 callers with durability `sync` (CPU of one record)",
        comparisons=(
            Comparison(
                name="audit_cpu_64", against="15 µs", figure=_GOAL_CPU_MICROSECONDS, goal=1.0
            ),
        ),
        measure=_synced_cpu,
    ),
)
