"""Workers that were killed: each is finished once, when it is reaped, or at last."""

from __future__ import annotations

from collections.abc import Iterator

import anyio
import anyio.lowlevel
import pytest

from caps.protocol.connection import HostConnection
from caps.protocol.messages import PROTOCOL_VERSION, ReadyMessage
from caps.worker.host.pool import reaping as reaping_module
from caps.worker.host.pool.reaping import Reaping
from caps.worker.host.pool.spare import Spare
from support.fake_workers import FakeWorker

pytestmark = pytest.mark.anyio

READY = ReadyMessage(protocol=PROTOCOL_VERSION, python="3", id="m1", timestamp=0.0)


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def worker() -> Iterator[Lingering]:
    """It and its channel go with the test."""
    worker = Lingering()
    yield worker
    worker.transport.close()
    worker.theirs.close()


class Lingering(FakeWorker):
    """It is killed long before it is reaped."""

    killed = False

    def kill(self) -> None:
        self.killed = True


def spare_of(worker: FakeWorker) -> Spare:
    return Spare(worker, HostConnection(), READY)


async def killed_by(reaping: Reaping, worker: Lingering) -> None:
    """Give it to `reaping`, whose task then runs until the kill."""
    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            reaping.kill_soon(spare_of(worker))
            assert not worker.killed
            tasks.start_soon(reaping.kill_used)
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()


async def test_a_worker_is_finished_when_it_is_reaped_and_not_before(worker: Lingering) -> None:
    """Once, though it was killed and is waited for by others, too."""
    finished: list[Spare] = []
    reaping = Reaping(finished.append)
    await killed_by(reaping, worker)
    assert (worker.killed, finished) == (True, [])
    FakeWorker.kill(worker)
    FakeWorker.kill(worker)
    assert [spare.worker for spare in finished] == [worker]
    assert reaping.take_one() is None


async def test_a_worker_that_is_reaped_already_is_finished_now(worker: Lingering) -> None:
    """A killed worker of a zygote that has ended."""
    finished: list[Spare] = []
    FakeWorker.kill(worker)
    await killed_by(Reaping(finished.append), worker)
    assert len(finished) == 1


async def test_a_worker_that_is_never_reaped_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, worker: Lingering
) -> None:
    """Its slot is free after a while, and only once if it is reaped after all."""
    monkeypatch.setattr(reaping_module, "_REAP_SECONDS", 0.01)
    finished: list[Spare] = []
    reaping = Reaping(finished.append)
    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(reaping.watch)
            tasks.start_soon(reaping.kill_used)
            reaping.kill_soon(spare_of(worker))
            while not finished:
                await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
    FakeWorker.kill(worker)
    assert len(finished) == 1


async def test_what_the_closing_pool_takes_is_its_own_to_finish(worker: Lingering) -> None:
    """The report that comes then finishes nothing twice."""
    finished: list[Spare] = []
    reaping = Reaping(finished.append)
    await killed_by(reaping, worker)
    taken = reaping.take_one()
    assert taken is not None
    assert taken.worker is worker
    FakeWorker.kill(worker)
    assert finished == []


async def test_what_was_not_killed_yet_is_taken_too(worker: Lingering) -> None:
    """The pool closes right after a result: only its closing kills the worker and finishes it."""
    finished: list[Spare] = []
    reaping = Reaping(finished.append)
    reaping.kill_soon(spare_of(worker))
    taken = reaping.take_one()
    assert taken is not None
    assert (taken.worker, worker.killed, finished) == (worker, False, [])
    assert reaping.take_one() is None
