"""The stock of spares: filled ahead of need, grown when found empty, used once each."""

from __future__ import annotations

import sys
from pathlib import Path

import anyio
import pytest

from caps.protocol.errors import WorkerLostError
from caps.protocol.messages import WorkerLimits
from caps.worker.host import pool as pool_module
from caps.worker.host.pool import WorkerPool
from caps.worker.host.supervisor import Answer, Job
from caps.worker.host.zygote import ZygoteSource
from caps.worker.host.zygote_process import ForkedWorker
from direct_workers import DirectWorker, DirectWorkers

pytestmark = pytest.mark.anyio

HOSTILE_WORKER = Path(__file__).parent.parent / "hostile_worker.py"
JOB = Job(
    execution_id="e1",
    namespace="caps",
    policy_id="p",
    manifest=(),
    source="6 * 7",
    filename="<agent>",
    wall_ms=20_000,
    output_bytes=1000,
    most_requests=5,
    worker_limits=WorkerLimits(cpu_ms=5000, memory_mb=256, concurrency=2),
)


class NoCalls:
    def begin(self) -> None: ...

    async def handle(self, request: object) -> Answer:
        raise AssertionError(request)


class Counting(ZygoteSource):
    """A real source that notes what it started."""

    def __init__(self) -> None:
        super().__init__()
        self.started = 0
        self.grew = anyio.Event()

    async def start(self) -> ForkedWorker:
        worker = await super().start()
        self.started += 1
        self.grew.set()
        self.grew = anyio.Event()
        return worker

    async def until(self, number: int) -> None:
        with anyio.fail_after(20):
            while self.started < number:
                await self.grew.wait()


async def test_spares_are_ready_before_anybody_asks_and_replaced_when_used() -> None:
    """Two wait; one is used and dies; another takes its place. None serves twice."""
    source = Counting()
    alive: list[int] = []
    pool = WorkerPool(source, 8, alive.append)
    async with pool.open():
        await source.until(2)
        for used in range(1, 4):
            await pool.run(JOB, NoCalls(), print)
            await source.until(2 + used)
    assert sum(alive) == 0
    assert alive.count(+1) == source.started


async def test_the_stock_grows_when_it_is_found_empty() -> None:
    """A burst beyond the stock is served at once, and the next finds more spares."""
    source = Counting()
    pool = WorkerPool(source, 16, lambda _change: None)
    async with pool.open(), anyio.create_task_group() as burst:
        for _ in range(12):
            burst.start_soon(pool.run, JOB, NoCalls(), print)
    assert pool._target > pool_module._FEWEST_SPARES


async def test_a_code_that_had_started_is_never_run_again() -> None:
    """Only what never ran is tried once more."""
    started: list[DirectWorker] = []

    class Source(DirectWorkers):
        async def start(self) -> DirectWorker:
            worker = await super().start()
            started.append(worker)
            return worker

    pool = WorkerPool(
        Source((sys.executable, "-I", str(HOSTILE_WORKER), "die")), 1, lambda _change: None
    )
    with pytest.raises(WorkerLostError) as error:
        await pool.run(JOB, NoCalls(), print)
    assert (error.value.started, len(started)) == (True, 1)


async def test_a_closed_pool_says_so() -> None:
    """Nothing hangs, and no zygote is started for it."""
    pool = WorkerPool(ZygoteSource(), 1, lambda _change: None)
    async with pool.open():
        pass
    with pytest.raises(WorkerLostError) as error:
        await pool.run(JOB, NoCalls(), print)
    assert error.value.started is False
