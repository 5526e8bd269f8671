"""Pools by their modules: one for each set, started when it is asked for, and not too many.

Workers are played in this process over the real protocol, as in `test_pool`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import anyio
import anyio.lowlevel
import pytest

from caps.protocol.errors import WorkerLostError
from caps.worker.host.pool.module_pools import MAX_MODULE_SETS, PoolsByModules
from caps.worker.host.pool.pool import WorkerPool
from support.fake_workers import JOB, FakeWorkerSource, UnansweredCalls

pytestmark = pytest.mark.anyio

NUMPY = ("numpy",)
SETS = [(f"m{number}",) for number in range(MAX_MODULE_SETS + 1)]


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class FakeModuleSource(FakeWorkerSource):
    """A source that remembers the ones that were made of it, and which of them are open."""

    def __init__(self) -> None:
        super().__init__()
        self.made: list[tuple[str, ...]] = []
        self.open_now: list[tuple[str, ...]] = []
        self.sources: dict[tuple[str, ...], _FakeModuleSet] = {}
        self.opening = anyio.Event()
        self.opening.set()

    def with_modules(self, modules: tuple[str, ...]) -> FakeWorkerSource:
        self.made.append(modules)
        self.sources[modules] = _FakeModuleSet(self, modules)
        return self.sources[modules]


class _FakeModuleSet(FakeWorkerSource):
    def __init__(self, parent: FakeModuleSource, modules: tuple[str, ...]) -> None:
        super().__init__()
        self._parent, self._modules = parent, modules

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        await self._parent.opening.wait()
        if "missing" in self._modules:
            raise WorkerLostError("module `missing` is not", started=False, module="missing")
        self._parent.open_now.append(self._modules)
        try:
            async with super().open():
                yield
        finally:
            self._parent.open_now.remove(self._modules)


class Pools:
    """Pools with their source, and how many workers live."""

    def __init__(self, most: int = 100) -> None:
        self.source = FakeModuleSource()
        self.alive = 0
        self.pools = PoolsByModules(self.source, most, self._count)

    def _count(self, change: int) -> None:
        self.alive += change

    async def touch(self, modules: tuple[str, ...]) -> WorkerPool:
        """Use the set for a moment."""
        async with self.pools.using(modules) as pool:
            return pool


@asynccontextmanager
async def opened(most: int = 100) -> AsyncIterator[Pools]:
    pools = Pools(most)
    with anyio.fail_after(20):
        async with pools.pools.open():
            yield pools
    assert (pools.alive, pools.source.open_now) == (0, [])


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await anyio.lowlevel.checkpoint()


async def test_nothing_is_started_before_anybody_asks() -> None:
    """Neither the ordinary workers nor others."""
    async with opened() as pools:
        await anyio.wait_all_tasks_blocked()
        assert (pools.alive, pools.source.made) == (0, [])


async def test_the_empty_set_is_the_source_itself() -> None:
    """As it is if no policy grants a module."""
    async with opened() as pools:
        async with pools.pools.using(()) as pool:
            assert (await pool.run(JOB, UnansweredCalls(), print)).value == b"\x07"
        assert pools.source.made == []
        assert len(pools.source.workers) >= 1


async def test_each_set_has_workers_of_its_own() -> None:
    """None of them serves another set."""
    async with opened() as pools:
        async with pools.pools.using(NUMPY) as pool:
            await pool.run(JOB, UnansweredCalls(), print)
        assert pools.source.made == [NUMPY]
        assert pools.source.workers == []
        heard = [len(worker.received) for worker in pools.source.sources[NUMPY].workers]
        assert sorted(heard)[-2:] in ([2], [0, 2])


async def test_a_set_stays_between_two_uses() -> None:
    """The second finds the spares of the first."""
    async with opened() as pools:
        first = await pools.touch(NUMPY)
        assert await pools.touch(NUMPY) is first
        assert pools.source.made == [NUMPY]


async def test_many_who_ask_at_once_start_one() -> None:
    """And all of them get it."""
    async with opened() as pools:
        found: list[WorkerPool] = []

        async def ask() -> None:
            found.append(await pools.touch(NUMPY))

        async with anyio.create_task_group() as tasks:
            for _ in range(20):
                tasks.start_soon(ask)
        assert (len(found), len(set(found))) == (20, 1)
        assert pools.source.made == [NUMPY]


async def test_a_set_at_hand_does_not_wait_for_one_that_starts() -> None:
    """Starting takes a while, and only the caller that asked for it waits."""
    async with opened() as pools, anyio.create_task_group() as tasks:
        first = await pools.touch(NUMPY)
        pools.source.opening = anyio.Event()
        tasks.start_soon(pools.touch, ("slow",))
        await until(lambda: pools.source.made == [NUMPY, ("slow",)])
        assert await pools.touch(NUMPY) is first
        pools.source.opening.set()


async def test_the_set_that_nobody_used_for_longest_makes_room() -> None:
    """The others, and what is in use, stay."""
    async with opened() as pools:
        async with pools.pools.using(SETS[0]):
            for modules in SETS[1:MAX_MODULE_SETS]:
                await pools.touch(modules)
            await pools.touch(SETS[1])
            await pools.touch(SETS[MAX_MODULE_SETS])
            kept = {*SETS} - {SETS[2]}
            assert set(pools.source.open_now) == kept
        await pools.touch(SETS[2])
        assert set(pools.source.open_now) == {*SETS} - {SETS[3]}
        assert pools.source.made.count(SETS[2]) == 2


async def test_while_all_are_in_use_whoever_asks_for_another_waits() -> None:
    """Until one of them is free, which then makes room."""
    async with opened() as pools, AsyncExitStack() as stack:
        async with anyio.create_task_group() as tasks, pools.pools.using(SETS[0]):
            for modules in SETS[1:MAX_MODULE_SETS]:
                await stack.enter_async_context(pools.pools.using(modules))
            tasks.start_soon(pools.touch, SETS[MAX_MODULE_SETS])
            await anyio.wait_all_tasks_blocked()
            assert set(pools.source.open_now) == {*SETS[:MAX_MODULE_SETS]}
        assert set(pools.source.open_now) == {*SETS[1:]}


async def test_all_sets_together_have_no_more_workers_than_one_may_have() -> None:
    """One place: who runs in one set keeps the other waiting."""
    async with (
        opened(most=1) as pools,
        pools.pools.using(()) as plain,
        pools.pools.using(NUMPY) as other,
        anyio.create_task_group() as tasks,
    ):
        held = await plain.borrow()
        tasks.start_soon(other.run, JOB, UnansweredCalls(), print)
        await anyio.wait_all_tasks_blocked()
        workers = pools.source.sources[NUMPY].workers
        assert all(not worker.received for worker in workers)
        await plain.end(held)
        await until(lambda: any(len(worker.received) == 2 for worker in workers))


async def test_a_set_that_cannot_be_had_is_an_error_and_leaves_nothing() -> None:
    """The next caller gets the same error, and other sets are available."""
    async with opened() as pools:
        for _ in range(2):
            with pytest.raises(WorkerLostError, match="module `missing`") as caught:
                await pools.touch(("missing", "numpy"))
            assert caught.value.module == "missing"
        await pools.touch(NUMPY)
        assert pools.source.open_now == [NUMPY]


async def test_who_gives_up_while_a_set_starts_leaves_nothing() -> None:
    """The half that was started is closed, and the next caller starts again."""
    async with opened() as pools:
        pools.source.opening = anyio.Event()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pools.touch, NUMPY)
            await until(lambda: pools.source.made == [NUMPY])
            tasks.cancel_scope.cancel()
        pools.source.opening.set()
        await pools.touch(NUMPY)
        assert pools.source.made == [NUMPY, NUMPY]


@pytest.mark.parametrize("waiting_for", ["a start", "room"])
async def test_closing_lets_nobody_wait_forever(waiting_for: str) -> None:
    """A caller that waits for a set gets a closed pool, or an error."""
    pools, told = Pools(), []

    async def ask(modules: tuple[str, ...]) -> None:
        try:
            async with pools.pools.using(modules) as pool:
                await pool.run(JOB, UnansweredCalls(), print)
        except WorkerLostError as lost:
            told.append((lost.started, lost.message))

    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks, AsyncExitStack() as stack:
            await stack.enter_async_context(pools.pools.open())
            if waiting_for == "a start":
                pools.source.opening = anyio.Event()
            else:
                for modules in SETS[:MAX_MODULE_SETS]:
                    await stack.enter_async_context(pools.pools.using(modules))
            tasks.start_soon(ask, SETS[MAX_MODULE_SETS])
            await anyio.wait_all_tasks_blocked()
            pools.source.opening.set()
    assert told == [(False, "the runtime was closed before its code ran")]
    assert (pools.alive, pools.source.open_now) == (0, [])
