"""The stock of spares: most have the manifest that is expected, and each has one at most."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import cast

import anyio
import msgspec
import pytest
from msgspec.structs import replace

from caps.protocol.connection import HostConnection
from caps.protocol.messages import (
    PROTOCOL_VERSION,
    ManifestEntry,
    ManifestMessage,
    ReadyMessage,
    StartMessage,
)
from caps.worker.host.pool import stock as stock_module
from caps.worker.host.pool.spare import Spare
from caps.worker.host.pool.stock import Stock
from caps.worker.host.supervisor.interface import Job, Manifest
from support.fake_workers import JOB, FakeWorker, FakeWorkerSource, PoolSetup

pytestmark = pytest.mark.anyio


def granting(*names: str) -> Job:
    """A job whose manifest is encoded, as that of every grant."""
    entries = tuple(ManifestEntry.of(name=name, schema_in={}, title="") for name in names)
    encoded = msgspec.Raw(msgspec.msgpack.encode(entries))
    return replace(JOB, manifest=entries, manifest_bytes=encoded)


USUAL = granting("files.read")
OTHER = granting("files.write")
SURE = 3
MOST = 8


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(autouse=True)
def no_warm_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """All workers are as if they had done it, however fast the test is."""
    monkeypatch.setattr(stock_module, "_WARM_UP_SECONDS", 0.0)


@pytest.fixture
async def pool() -> AsyncIterator[PoolSetup]:
    """One whose workers run the code and send a result."""
    setup = PoolSetup(FakeWorkerSource(), 100)
    with anyio.fail_after(20):
        async with setup.pool.open():
            yield setup


async def run_often(pool: PoolSetup, job: Job, times: int) -> None:
    for _ in range(times):
        await pool.until_stocked(2)
        await pool.run(job)


async def stocked(pool: PoolSetup) -> list[FakeWorker]:
    """The stock, once its workers have received what they were sent."""
    await pool.until_stocked(2)
    await anyio.wait_all_tasks_blocked()
    return pool.stock


def granted_to(worker: FakeWorker) -> list[str]:
    """The functions of each manifest that it was sent."""
    manifests = [each for each in worker.received if isinstance(each, ManifestMessage)]
    return [entry.name for manifest in manifests for entry in manifest.capabilities]


class TestASpare:
    async def test_has_the_manifest_before_it_is_taken(self, pool: PoolSetup) -> None:
        """And then gets the code alone, on a channel whose name is not the id of the execution."""
        await run_often(pool, USUAL, SURE + 1)
        (early,) = (worker for worker in await stocked(pool) if worker.received)
        assert granted_to(early) == ["files.read"]
        await pool.run(USUAL)
        manifest, start = early.received
        assert isinstance(manifest, ManifestMessage)
        assert isinstance(start, StartMessage)
        assert manifest.execution_id != USUAL.execution_id

    async def test_has_none_before_one_is_surely_expected(self, pool: PoolSetup) -> None:
        """A few executions may be all that ever have it."""
        await run_often(pool, USUAL, SURE - 1)
        assert [worker.received for worker in await stocked(pool)] == [[], []]

    async def test_is_left_without_one_for_others(self, pool: PoolSetup) -> None:
        """However many executions there were with the same one."""
        await run_often(pool, USUAL, 2 * MOST)
        assert sorted(len(worker.received) for worker in await stocked(pool)) == [0, 1]

    async def test_never_gets_a_second_manifest(self, pool: PoolSetup) -> None:
        """An execution with another one, and a session, take the spare that has none."""
        await run_often(pool, USUAL, SURE + 1)
        (early,) = (worker for worker in await stocked(pool) if worker.received)
        await pool.run(OTHER)
        await pool.until_stocked(2)
        await pool.run(replace(USUAL, session=True))
        await pool.until_stocked(2)
        borrowed = await pool.pool.borrow()
        assert borrowed.manifest is None
        await pool.pool.end(borrowed)
        assert not early.is_over
        assert all(len(granted_to(worker)) <= 1 for worker in pool.source.workers)

    async def test_goes_when_another_manifest_is_expected(self, pool: PoolSetup) -> None:
        """Nobody would ever take it."""
        await run_often(pool, USUAL, MOST)
        (early,) = (worker for worker in await stocked(pool) if worker.received)
        await run_often(pool, OTHER, 2 * MOST)
        await stocked(pool)
        assert early.is_over
        assert granted_to(early) == ["files.read"]
        assert [granted_to(worker) for worker in await stocked(pool)].count(["files.write"]) == 1

    @pytest.mark.parametrize("functions", [10, 2000])
    async def test_gets_no_manifest_that_a_channel_may_not_take_at_once(
        self, pool: PoolSetup, functions: int
    ) -> None:
        """A part of it would be left, and the code would have to wait behind it."""
        job = granting(*(f"files.f{number}" for number in range(functions)))
        await run_often(pool, job, MOST)
        early = [worker for worker in await stocked(pool) if worker.received]
        assert len(early) == (functions == 10)


async def test_one_that_had_time_for_its_warm_up_comes_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also if the other one has the manifest; if both had, or neither, the manifest decides."""
    monkeypatch.setattr(stock_module, "_WARM_UP_SECONDS", 10.0)
    stock, manifest, now = Stock(), Manifest.of(USUAL), time.monotonic()
    for _ in range(SURE):
        stock.note_use(manifest)
    workers = [FakeWorker(), FakeWorker()]
    for worker in workers:
        stock.add(a_spare(worker))
    without, early = stock
    for ages, chosen in (((20, 1), without), ((20, 15), early), ((2, 1), early), ((1, 20), early)):
        for spare, age in zip((without, early), ages, strict=True):
            msgspec.structs.force_setattr(spare, "made_at", now - age)
        assert stock.find(manifest) is chosen
    for worker in workers:
        worker.theirs.close()
        worker.transport.close()


async def test_one_that_exits_as_it_is_sent_its_manifest_stays_in_stock() -> None:
    """Whoever takes it finds out that it has exited, and gets another worker."""
    stock, manifest = Stock(), Manifest.of(USUAL)
    for _ in range(SURE):
        stock.note_use(manifest)
    first, gone = FakeWorker(), FakeWorker()
    stock.add(a_spare(first))
    gone.theirs.close()
    stock.add(a_spare(gone))
    found = stock.find(manifest)
    assert found is not None
    assert found.worker is gone
    for worker in (first, gone):
        worker.theirs.close()
        worker.transport.close()


def a_spare(worker: FakeWorker) -> Spare:
    stamp = worker.connection.stamp()
    ready = ReadyMessage(protocol=PROTOCOL_VERSION, python="3", **stamp)
    connection = HostConnection()
    connection.receive(worker.connection.send(ready))
    return Spare(worker, connection, ready)


def test_an_idle_stock_keeps_a_spare_without_a_manifest() -> None:
    """The newest one goes, unless it is the last of its kind; the very last one goes, too."""
    stock = Stock()
    for manifest in ("m", None, "m", None):
        stock._spares.append(cast("Spare", SimpleNamespace(manifest=manifest)))
    removed: list[object] = [stock.pop().manifest for _ in range(4)]
    assert removed == [None, "m", "m", None]
