"""The pool: spares at hand before they are needed, each used once, and none left behind.

Workers are played in this process over the real protocol; each test chooses how they behave.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import anyio.lowlevel
import pytest
from msgspec.structs import replace

from caps.protocol.errors import ProtocolError, WorkerLostError
from caps.protocol.messages import (
    CapabilityRequestMessage,
    StartedMessage,
    WorkerLimits,
)
from caps.protocol.transport import ChannelClosedError
from caps.worker.host.pool import pool as pool_module
from caps.worker.host.pool import spare as spare_module
from caps.worker.host.pool.pool import WorkerPool
from caps.worker.host.process.worker import ExitStatus
from caps.worker.host.supervisor import exit_reasons
from support.command_workers import CommandWorkerSource
from support.fake_workers import (
    JOB,
    Behaviour,
    FakeWorker,
    FakeWorkerSource,
    PoolSetup,
    UnansweredCalls,
    honest,
)

pytestmark = pytest.mark.anyio

# No limit of it is reached while a test lasts.
LONG = replace(JOB, worker_limits=WorkerLimits(cpu_ms=60_000, memory_mb=64, concurrency=2))


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def dies_with_the_code_in_hand(worker: FakeWorker) -> None:
    """Get the code and die before it starts."""
    await worker.take_code()
    worker.die(ExitStatus(7, None))


async def dies_at_work(worker: FakeWorker) -> None:
    """Start the code and die."""
    await worker.take_code()
    await worker.say(StartedMessage)
    worker.die(ExitStatus(7, None))


@asynccontextmanager
async def opened(behaviour: Behaviour = honest, *, most: int = 100) -> AsyncIterator[PoolSetup]:
    pool = PoolSetup(FakeWorkerSource(behaviour), most)
    with anyio.fail_after(20):
        async with pool.pool.open():
            yield pool


class TestTheStock:
    async def test_is_there_before_anybody_asks(self) -> None:
        """Two spares, ready, which have received nothing."""
        async with opened() as pool:
            spares = await pool.until_stocked(2)
            await anyio.wait_all_tasks_blocked()
            assert (len(pool.stock), pool.alive) == (2, 2)
            assert [spare.received for spare in spares] == [[], []]

    async def test_is_refilled_when_one_is_taken(self) -> None:
        """The execution gets the oldest, and another comes in its place."""
        async with opened() as pool:
            first, second = await pool.until_stocked(2)
            await pool.run()
            assert len(first.received) == 2
            spares = await pool.until_stocked(2)
            assert spares[0] is second
            assert first not in spares

    @pytest.mark.parametrize("asks", [False, True], ids=["and computes", "and waits for a call"])
    async def test_is_refilled_while_an_execution_takes_long(self, asks: bool) -> None:
        """It does not wait for the end of what may run for minutes."""

        async def takes_long(worker: FakeWorker) -> None:
            await worker.take_code()
            await worker.say(StartedMessage)
            if asks:
                asked = {"request_id": "r1", "capability": "files.read", "payload": {}}
                await worker.say(CapabilityRequestMessage, **asked)
            await anyio.sleep_forever()

        async with opened(takes_long) as pool, anyio.create_task_group() as tasks:
            first, second = await pool.until_stocked(2)
            tasks.start_soon(pool.run, LONG)
            await pool.until_stocked(1)
            spares = await pool.until_stocked(2)
            assert (spares[0], first.is_over) == (second, False)
            tasks.cancel_scope.cancel()

    async def test_is_refilled_when_an_execution_fails(self) -> None:
        """Immediately, and not when the next caller takes a spare."""
        async with opened(dies_at_work) as pool:
            first, second = await pool.until_stocked(2)
            with pytest.raises(WorkerLostError):
                await pool.run()
            spares = await pool.until_stocked(2)
            assert (spares[0], first.is_over) == (second, True)

    async def test_is_refilled_when_one_is_borrowed(self) -> None:
        """It may be kept for hours."""
        async with opened() as pool:
            first, second = await pool.until_stocked(2)
            borrowed = await pool.pool.borrow()
            spares = await pool.until_stocked(2)
            assert (borrowed.worker, spares[0]) == (first, second)
            await pool.pool.end(borrowed)

    async def test_is_refilled_while_a_dead_one_is_buried(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Whose zygote takes its time to say how it ended."""
        monkeypatch.setattr(exit_reasons, "_REAP_SECONDS", 30)
        async with opened() as pool, anyio.create_task_group() as tasks:
            dead, second = await pool.until_stocked(2)
            dead.ending, dead.kill = ExitStatus(1, None), lambda: None  # type: ignore[method-assign]
            tasks.start_soon(pool.run)
            await pool.until_stocked(1)
            spares = await pool.until_stocked(2)
            assert spares[0] is second
            dead.die(ExitStatus(1, None))

    async def test_grows_when_it_was_found_empty(self) -> None:
        """Up to a bound, however often that happens."""
        async with opened() as pool:
            await pool.until_stocked(2)
            await anyio.wait_all_tasks_blocked()  # its keeper knows that it is full, too
            async with anyio.create_task_group() as tasks:
                for _ in range(3):
                    tasks.start_soon(pool.run)
            await pool.until_stocked(4)
            async with anyio.create_task_group() as tasks:
                for _ in range(90):
                    tasks.start_soon(pool.run)
            await pool.until_stocked(pool_module.MAX_SPARES)
            await anyio.wait_all_tasks_blocked()
            assert len(pool.stock) == pool_module.MAX_SPARES

    async def test_is_refilled_without_pauses_once_nobody_asks(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It waits a moment only if somebody has wanted a worker since it last did."""
        pauses: list[int] = []
        wait_a_moment = WorkerPool._backoff

        async def count(pool: WorkerPool) -> None:
            pauses.append(len(pool._stock))
            await wait_a_moment(pool)

        monkeypatch.setattr(WorkerPool, "_backoff", count)
        async with opened() as pool:
            await pool.until_stocked(2)
            assert pauses == [0]
            await pool.run()
            await pool.until_stocked(2)
            assert pauses == [0, 1]

    async def test_shrinks_when_it_is_idle(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """One at a time and never below two; the ones that go are ended."""
        async with opened() as pool:
            await pool.until_stocked(2)
            await anyio.wait_all_tasks_blocked()  # as above
            async with anyio.create_task_group() as tasks:
                for _ in range(3):
                    tasks.start_soon(pool.run)
            spares = await pool.until_stocked(4)
            monkeypatch.setattr(pool_module, "_IDLE_SECONDS", 0.001)
            await pool.run()
            await pool.until_stocked(2)
            with anyio.move_on_after(0.05):
                await pool.until_stocked(1)
            assert (len(pool.stock), pool.alive) == (2, 2)
            assert sum(spare.is_over for spare in spares) >= 2

    async def test_is_refilled_after_a_failure(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A worker that is lost on its way in is tried again after a while."""
        monkeypatch.setattr(pool_module, "_RETRY_SECONDS", 0.001)

        async def fails_twice(worker: FakeWorker) -> None:
            if len(pool.source.workers) <= 2:
                worker.die(ExitStatus(1, None))
            else:
                await honest(worker)

        async with opened(fails_twice) as pool:
            await pool.until_stocked(2)
            assert len(pool.source.workers) == 4
        assert pool.alive == 0


class TestASpare:
    async def test_is_used_once(self) -> None:
        """As many workers as executions, one manifest and one start each, all ended."""
        async with opened() as pool:
            for _ in range(10):
                assert (await pool.run()).value == b"\x07"
            used = [worker for worker in pool.source.workers if worker.received]
            assert [len(worker.received) for worker in used] == [2] * 10
            assert all(worker.is_over for worker in used)

    async def test_that_is_known_to_be_dead_is_passed_over(self) -> None:
        """And disposed of: its channel is closed, it counts no more."""
        async with opened() as pool:
            dead = await pool.until_stocked(2)
            for worker in dead:
                worker.kill()
            assert (await pool.run()).value == b"\x07"
            assert [worker.received for worker in dead] == [[], []]
            for worker in dead:
                with pytest.raises(ChannelClosedError):
                    await worker.transport.receive()
            await pool.until_stocked(4)
            assert pool.alive == 4


class TestAnExecutionThatNeverStarted:
    async def test_is_tried_once_more_in_a_new_worker(self) -> None:
        """Not in the next spare, which may have died of the same cause."""

        async def first_ones_die(worker: FakeWorker) -> None:
            behaviour = honest if len(pool.source.workers) > 2 else dies_with_the_code_in_hand
            await behaviour(worker)

        async with opened(first_ones_die) as pool:
            first, second = await pool.until_stocked(2)
            assert (await pool.run()).value == b"\x07"
            assert (len(first.received), second.received) == (2, [])

    async def test_is_given_up_after_that(self) -> None:
        """The error says that nothing ran, and how the worker ended."""
        async with opened(dies_with_the_code_in_hand) as pool:
            await pool.until_stocked(2)
            with pytest.raises(
                WorkerLostError, match=r"before its code ran .exit status 7"
            ) as lost:
                await pool.run()
            assert lost.value.started is False
            assert sum(bool(worker.received) for worker in pool.source.workers) == 2

    async def test_differs_from_one_that_did(self) -> None:
        """Code that had started is never run again."""
        async with opened(dies_at_work) as pool:
            await pool.until_stocked(2)
            with pytest.raises(WorkerLostError, match=r"after its code had started") as lost:
                await pool.run()
            assert lost.value.started is True
            assert sum(bool(worker.received) for worker in pool.source.workers) == 1


class TestAWorkerThatIsNotReady:
    @pytest.fixture(autouse=True)
    def _impatient(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(spare_module, "_POLL_SECONDS", 0.01)
        monkeypatch.setattr(spare_module, "_STUCK_SECONDS", 0.05)

    async def test_and_does_nothing_is_given_up_early(self) -> None:
        """The error says so, and that nothing ran."""

        async def stuck(worker: FakeWorker) -> None:
            await worker.ended()

        async with opened(stuck) as pool:
            with pytest.raises(
                WorkerLostError, match=r"not ready after \d+ seconds and does nothing$"
            ) as lost:
                await pool.run()
            assert lost.value.started is False
            assert lost.value.waited_ms >= 50

    async def test_and_is_kept_busy_is_waited_for(self) -> None:
        """On a loaded machine it may take long, though it does what it can."""

        async def slow(worker: FakeWorker) -> None:
            worker.works = True
            while worker.used_us < 20:  # four times as long as one that does nothing has
                await anyio.lowlevel.checkpoint()
            await honest(worker)

        async with opened(slow) as pool:
            assert (await pool.run()).value == b"\x07"

    async def test_and_whose_clock_cannot_be_seen_is_waited_for(self) -> None:
        """Its CPU time is unknown, so it never counts as idle."""

        async def unseen(worker: FakeWorker) -> None:
            looks = list[None]()
            worker.cpu_us = lambda: looks.append(None)  # type: ignore[method-assign]
            while len(looks) < 20:  # as above
                await anyio.lowlevel.checkpoint()
            await honest(worker)

        async with opened(unseen) as pool:
            assert (await pool.run()).value == b"\x07"

    async def test_is_given_up_in_the_end_whatever_it_does(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """There is a bound for those that go round in circles, too."""
        monkeypatch.setattr(pool_module, "_READY_SECONDS", 0.2)

        async def circling(worker: FakeWorker) -> None:
            worker.works = True
            await worker.ended()

        async with opened(circling) as pool:
            with pytest.raises(WorkerLostError, match=r"not ready after \d+ seconds$"):
                await pool.run()

    @pytest.mark.process
    async def test_is_seen_to_be_stuck_as_a_process_is(self) -> None:
        """A real one that sleeps uses no CPU time; nothing waits for another after it."""
        lives: list[int] = []
        pool = WorkerPool(CommandWorkerSource(("/bin/sleep", "600")), 1, lives.append)
        with anyio.fail_after(20):
            with pytest.raises(WorkerLostError, match="and does nothing"):
                await pool.run(JOB, UnansweredCalls(), print)
        assert lives == [+1, -1]


class TestHalfAFrame:
    @pytest.mark.parametrize(
        ("ending", "expected"),
        [(ExitStatus(None, signal.SIGKILL), WorkerLostError), (ExitStatus(0, None), ProtocolError)],
        ids=["killed", "left"],
    )
    async def test_is_a_lie_unless_the_worker_was_killed(
        self, ending: ExitStatus, expected: type[Exception]
    ) -> None:
        """A worker that is killed while writing is not a violation; the code may have run."""

        async def stops_in_mid_frame(worker: FakeWorker) -> None:
            await worker.take_code()
            await worker.say(StartedMessage)
            await worker.theirs.send(b"\x00\x00\x00\x09half")
            worker.die(ending)

        async with opened(stops_in_mid_frame) as pool:
            with pytest.raises(expected) as error:
                await pool.run()
            assert getattr(error.value, "started") is True  # noqa: B009 - a detail of both


class TestCancelling:
    async def test_while_a_worker_is_forked_leaves_nothing(self) -> None:
        """No worker, no place taken: the only slot is free again."""
        async with opened(most=1) as pool:
            for worker in await pool.until_stocked(2):
                worker.kill()
            pool.source.gate = anyio.Event()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(pool.run)
                while not pool.source.waiting:
                    await anyio.lowlevel.checkpoint()
                await anyio.wait_all_tasks_blocked()
                tasks.cancel_scope.cancel()
            assert pool.alive == 0
            pool.source.gate.set()
            assert (await pool.run()).value == b"\x07"
        assert pool.alive == 0

    @pytest.mark.parametrize("ready", [True, False])
    async def test_ends_the_worker(self, ready: bool) -> None:
        """Whether it runs code or is not even ready."""
        reached = anyio.Event()

        async def endless(worker: FakeWorker) -> None:
            if ready:
                await worker.take_code()
                await worker.say(StartedMessage)
            reached.set()
            await worker.theirs.receive()

        async with opened(endless) as pool:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(pool.run)
                await reached.wait()
                await anyio.wait_all_tasks_blocked()
                tasks.cancel_scope.cancel()
            used = [worker for worker in pool.source.workers if worker.received or not ready]
            assert any(worker.is_over for worker in used)
            alive = [worker for worker in pool.source.workers if not worker.is_over]
            assert pool.alive == len(alive)


class TestClosing:
    async def test_ends_what_runs_and_what_waits(self) -> None:
        """Each says whether its code had run; no caller hangs and nothing is tried again."""
        lost: list[tuple[str, bool]] = []
        started = anyio.Event()

        async def endless(worker: FakeWorker) -> None:
            await worker.take_code()
            await worker.say(StartedMessage)
            started.set()
            await worker.theirs.receive()

        async def run(pool: PoolSetup) -> None:
            try:
                await pool.run()
            except WorkerLostError as error:
                lost.append((error.message, error.started))

        async with anyio.create_task_group() as tasks, opened(endless, most=1) as pool:
            tasks.start_soon(run, pool)
            await started.wait()
            tasks.start_soon(run, pool)
            await anyio.wait_all_tasks_blocked()
        assert lost == [
            ("the runtime was closed while its code ran", True),
            ("the runtime was closed before its code ran", False),
        ]
        assert pool.alive == 0
        assert all(worker.is_over for worker in pool.source.workers)


def test_a_worker_is_counted_out_though_its_end_is_cancelled_again() -> None:
    """By asyncio itself, whose cancellation no shield stops."""

    async def main() -> None:
        at_work, dying = anyio.Event(), anyio.Event()

        async def dies_slowly(worker: FakeWorker) -> None:
            await worker.take_code()
            await worker.say(StartedMessage)
            worker.kill = dying.set  # type: ignore[method-assign]
            at_work.set()

        pool = PoolSetup(FakeWorkerSource(dies_slowly), 1)
        with anyio.fail_after(20):
            async with pool.pool.open():
                running = asyncio.create_task(pool.run())
                await at_work.wait()
                (worker,) = (worker for worker in pool.source.workers if worker.received)
                running.cancel()
                await dying.wait()
                running.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await running
                with pytest.raises(ChannelClosedError):
                    await worker.transport.receive()
                worker.die(ExitStatus(None, signal.SIGKILL))
        assert pool.alive == 0

    asyncio.run(main())
