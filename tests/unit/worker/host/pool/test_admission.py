"""The wait for a worker: it ends, it is fair, and it is counted."""

from __future__ import annotations

from collections import Counter

import anyio
import pytest

from caps.worker.host.pool.admission import Admission, NoFreeWorkerError, WaitReason
from caps.worker.host.pool.module_pools import MAX_MODULE_SETS, PoolsByModules
from caps.worker.host.pool.observer import NullPoolObserver
from caps.worker.host.pool.pool import WorkerPool
from support.fake_workers import JOB, FakeWorkerSource, UnansweredCalls

pytestmark = pytest.mark.anyio


class Observer(NullPoolObserver):
    """Keeps what it is notified of."""

    def __init__(self) -> None:
        self.waiting: Counter[str] = Counter()
        self.refused: list[str] = []

    def waiting_changed(self, reason: str, change: int) -> None:
        self.waiting[reason] += change

    def wait_refused(self, reason: str) -> None:
        self.refused.append(reason)


@pytest.mark.parametrize(
    ("owner", "reason", "message"),
    [
        ("bob", "worker", "no worker was free within 0 ms: all 2 are in use; try again later"),
        ("eve", "principal", "no worker was free within 0 ms: its principal uses 1, as many as"),
    ],
)
async def test_a_caller_that_waits_too_long_is_told_what_it_waited_for(
    owner: str, reason: str, message: str
) -> None:
    """And both are counted."""
    observer = Observer()
    admission = Admission(2, max_wait_ms=0, observer=observer)
    await admission.enter("eve")
    if owner == "bob":
        await admission.enter("ada")
    with pytest.raises(NoFreeWorkerError) as refused:
        await admission.enter(owner)
    assert refused.value.message.startswith(message)
    assert (refused.value.started, refused.value.waiting_for) == (False, reason)
    assert (observer.refused, observer.waiting[reason]) == ([reason], 0)


@pytest.mark.parametrize(("workers", "share"), [(1, 1), (2, 1), (5, 3), (256, 128)])
async def test_half_of_the_workers_are_the_share_of_a_principal(workers: int, share: int) -> None:
    """So that another one always finds a worker, as far as there are two."""
    admission = Admission(workers, max_wait_ms=0)
    for _ in range(share):
        await admission.enter("eve")
    with pytest.raises(NoFreeWorkerError):
        await admission.enter("eve")
    admission.leave("eve")
    await admission.enter("eve")


async def test_a_waiting_caller_gets_the_worker_of_one_that_leaves() -> None:
    """It is counted as waiting until then."""
    observer = Observer()
    admission = Admission(1, observer=observer)
    await admission.enter("eve")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(admission.enter, "ada")
        await anyio.wait_all_tasks_blocked()
        assert observer.waiting == {"worker": 1}
        admission.leave("eve")
    assert (observer.waiting, observer.refused) == ({"worker": 0}, [])


async def test_a_refused_job_is_not_tried_again() -> None:
    """A second attempt would wait as long again."""
    observer = Observer()
    admission = Admission(1, max_wait_ms=0, observer=observer)
    pool = WorkerPool(FakeWorkerSource(), admission, lambda _: None)
    async with pool.open():
        await admission.enter("eve")
        with pytest.raises(NoFreeWorkerError):
            await pool.run(JOB, UnansweredCalls(), print)
    assert observer.refused == ["worker"]


async def test_the_wait_for_a_set_of_modules_ends_as_well() -> None:
    """All sets that there can be are in use."""
    observer = Observer()
    admission = Admission(100, max_wait_ms=50, observer=observer)
    pools = PoolsByModules(FakeWorkerSource(), admission, lambda _: None)
    names = [(f"module{number}",) for number in range(MAX_MODULE_SETS)]
    async with pools.open(), anyio.create_task_group() as tasks:
        done = anyio.Event()

        async def use(modules: tuple[str, ...]) -> None:
            async with pools.using(modules):
                await done.wait()

        for modules in names:
            tasks.start_soon(use, modules)
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(NoFreeWorkerError, match="too many sets of `modules`"):
            async with pools.using(("another",)):
                pass
        done.set()
    assert observer.refused == [WaitReason.MODULES.value]
