"""A lease: one worker from the pool, given back once, whatever happens while it is being taken."""

from __future__ import annotations

import time
from types import SimpleNamespace

import anyio
import anyio.lowlevel
import pytest
from msgspec.structs import replace

from caps.protocol.errors import WorkerLostError
from caps.protocol.messages import ResultMessage, StartedMessage
from caps.worker.host.pool import lease as lease_module
from caps.worker.host.pool.lease import Lease, SessionEnd
from caps.worker.host.process.worker import ExitStatus
from support.fake_workers import (
    JOB,
    FakeWorker,
    FakeWorkerSource,
    PoolSetup,
    UnansweredCalls,
    honest,
)

pytestmark = pytest.mark.anyio

CELL = replace(JOB, session=True)


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def lease_of(pool: PoolSetup) -> Lease:
    return Lease(pool.pool, idle_ms=60_000, wall_ms=60_000)


async def dies_at_once(worker: FakeWorker) -> None:
    """Never get ready."""
    worker.die(ExitStatus(7, None))


async def test_a_lease_that_is_closed_while_it_is_opened_gets_no_worker() -> None:
    """The one that was being started is ended, and its place is free for the next."""
    pool = PoolSetup(FakeWorkerSource(), 1)
    with anyio.fail_after(20):
        async with pool.pool.open():
            await pool.until_stocked(2)
            for worker in pool.stock:
                worker.die(ExitStatus(7, None))
            pool.source.gate = anyio.Event()
            lease = lease_of(pool)

            async def open_it() -> None:
                with pytest.raises(WorkerLostError, match="closed before its code ran"):
                    await lease.open()

            async with anyio.create_task_group() as group:
                group.start_soon(open_it)
                await anyio.wait_all_tasks_blocked()
                await lease.end(SessionEnd.CLOSED, "it was closed")
                pool.source.gate.set()
            assert lease.ended is not None
            assert (await pool.run()).value == b"\x07"
    assert (lease.ended.reason, pool.alive) == (SessionEnd.CLOSED, 0)


async def test_a_lease_without_a_worker_is_over() -> None:
    """A caller that asks it for more gets an error, and no slot is lost."""
    pool = PoolSetup(FakeWorkerSource(dies_at_once), 1)
    with anyio.fail_after(20):
        async with pool.pool.open():
            lease = lease_of(pool)
            with pytest.raises(WorkerLostError):
                await lease.open()
            pool.source.behaviour = honest
            assert (await pool.run()).value == b"\x07"
    assert lease.ended is not None
    assert lease.ended.reason is SessionEnd.WORKER_LOST


async def test_a_lease_that_is_overdue_when_it_is_first_looked_at_ends() -> None:
    """The loop may have been busy for longer than it may be idle."""
    pool = PoolSetup(FakeWorkerSource(), 1)
    with anyio.fail_after(20):
        async with pool.pool.open():
            lease = Lease(pool.pool, idle_ms=1, wall_ms=60_000)
            await lease.open()
            overdue = time.monotonic() + 0.01
            while time.monotonic() < overdue:
                pass
            while lease.ended is None:
                await anyio.lowlevel.checkpoint()
    assert lease.ended.reason is SessionEnd.IDLE


async def test_a_lease_gives_its_worker_back_once() -> None:
    """However often it is ended; the first reason stays."""
    pool = PoolSetup(FakeWorkerSource(), 1)
    with anyio.fail_after(20):
        async with pool.pool.open():
            lease = lease_of(pool)
            await lease.open()
            assert (await lease.run(CELL, UnansweredCalls(), print)).value == b"\x07"
            await lease.end(SessionEnd.RUNS, "enough")
            await lease.end(SessionEnd.CLOSED, "it was closed")
            async with anyio.create_task_group() as group:
                for _ in range(2):
                    group.start_soon(pool.run)
    assert lease.ended is not None
    assert (lease.ended.reason, lease.ended.message, pool.alive) == (SessionEnd.RUNS, "enough", 0)


async def test_a_session_that_grew_too_old_while_its_clock_stood_still_ends_with_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A run that waited for a person may end after its session should have; nothing follows it."""
    now = [0.0]
    monkeypatch.setattr(lease_module, "time", SimpleNamespace(monotonic=lambda: now[0]))

    async def outlives_its_session(worker: FakeWorker) -> None:
        await worker.take_code()
        await worker.say(StartedMessage)
        now[0] += 61
        await worker.say(ResultMessage, value=b"\x07")

    pool = PoolSetup(FakeWorkerSource(outlives_its_session), 1)
    with anyio.fail_after(10):
        async with pool.pool.open():
            lease = lease_of(pool)
            await lease.open()
            await anyio.wait_all_tasks_blocked()  # the watch has polled, and found no end
            assert (await lease.run(CELL, UnansweredCalls(), print)).value == b"\x07"
            while lease.ended is None:
                await anyio.lowlevel.checkpoint()
    assert lease.ended.reason is SessionEnd.WALL
