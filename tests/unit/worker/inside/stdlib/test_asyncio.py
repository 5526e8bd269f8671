"""(4) The `asyncio` of user space: gather, wait_for, sleep and run behave as agents expect."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from caps.worker.inside.aio import loop as loop_module
from caps.worker.inside.aio.loop import CancelledError, Loop
from caps.worker.inside.stdlib.asyncio_ import AsyncioFacade
from support.idle_clock import IdleClock
from support.language_programs import run


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> IdleClock:
    made = IdleClock()
    monkeypatch.setattr(loop_module, "time", made)
    return made


@pytest.fixture
def aio(clock: IdleClock) -> AsyncioFacade:
    return AsyncioFacade(Loop(clock.idle))


async def failing(error: BaseException) -> None:
    raise error


def test_it_offers_only_names_that_asyncio_has(aio: AsyncioFacade) -> None:
    """User space learns nothing here that it would have to unlearn."""
    newer = {"QueueShutDown"}  # since Python 3.13
    assert {name for name in aio.names() if not hasattr(asyncio, name)} <= newer


class TestSleep:
    def test_gives_the_result_it_was_handed(self, aio: AsyncioFacade, clock: IdleClock) -> None:
        """As in asyncio."""
        assert (aio.run(aio.sleep(2, "x")), clock.now) == ("x", 2.0)

    def test_shorter_sleepers_wake_first(self, aio: AsyncioFacade) -> None:
        """However they were started."""
        log: list[int] = []

        async def sleeper(seconds: int) -> None:
            await aio.sleep(seconds)
            log.append(seconds)

        aio.run(aio.gather(*(sleeper(seconds) for seconds in (3, 1, 2))))
        assert log == [1, 2, 3]

    @pytest.mark.parametrize("delay", [0, -1, float("nan"), float("-inf")])
    def test_no_time_at_all_is_one_turn(
        self, aio: AsyncioFacade, clock: IdleClock, delay: float
    ) -> None:
        """Negative times are not an error, as in asyncio."""
        aio.run(aio.sleep(delay))
        assert clock.now == 0


class TestGather:
    def test_gives_results_in_the_order_of_its_arguments(
        self, aio: AsyncioFacade, clock: IdleClock
    ) -> None:
        """The first to finish; and all wait at the same time."""

        async def main() -> Any:
            return await aio.gather(aio.sleep(2, "a"), aio.sleep(1, "b"), aio.sleep(3, "c"))

        assert (aio.run(main()), clock.now) == (["a", "b", "c"], 3.0)

    def test_of_nothing_is_an_empty_list(self, aio: AsyncioFacade) -> None:
        """As in asyncio."""

        async def main() -> Any:
            return await aio.gather()

        assert aio.run(main()) == []

    def test_starts_its_coroutines_before_it_is_awaited(self, aio: AsyncioFacade) -> None:
        """`g = gather(…)` runs while other things are awaited."""
        log: list[str] = []

        async def note() -> None:
            log.append("ran")

        async def main() -> None:
            together = aio.gather(note())
            await aio.sleep(1)
            log.append("slept")
            await together

        aio.run(main())
        assert log == ["ran", "slept"]

    def test_raises_the_first_error_in_time(self, aio: AsyncioFacade) -> None:
        """Not the first in order, and immediately, not when all are done; the others continue."""
        log: list[str] = []

        async def late() -> None:
            await aio.sleep(2)
            log.append("late went on")
            raise KeyError("late")

        async def early() -> None:
            await aio.sleep(1)
            raise ValueError("early")

        async def main() -> None:
            with pytest.raises(ValueError, match="early"):
                await aio.gather(late(), early())
            assert log == []
            await aio.sleep(5)

        aio.run(main())
        assert log == ["late went on"]

    def test_of_two_errors_in_one_turn_raises_the_one_that_came_first(
        self, aio: AsyncioFacade
    ) -> None:
        """The order of events decides, not the order of arguments."""

        async def main() -> None:
            second, first = aio._loop.future(), aio._loop.future()
            together = aio.gather(second, first)
            await aio.sleep(0)
            first._finish(None, ValueError("first"))
            second._finish(None, KeyError("second"))
            with pytest.raises(ValueError, match="first"):
                await together

        aio.run(main())

    def test_can_give_errors_as_results(self, aio: AsyncioFacade) -> None:
        """With return_exceptions all are waited for, and even a falsy error is an error."""

        class EmptyError(Exception):
            def __len__(self) -> int:
                return 0

        async def main() -> Any:
            return await aio.gather(
                failing(ValueError("x")),
                aio.sleep(1, None),
                failing(EmptyError()),
                return_exceptions=True,
            )

        first, second, third = aio.run(main())
        assert (type(first), second, type(third)) == (ValueError, None, EmptyError)

    def test_when_cancelled_cancels_all_and_waits_for_their_clean_up(
        self, aio: AsyncioFacade
    ) -> None:
        """No task is left running."""
        log: list[str] = []

        async def child(name: str) -> None:
            try:
                await aio.sleep(100)
            finally:
                await aio.sleep(1)
                log.append(name)

        async def main() -> None:
            task = aio.create_task(aio_gather(child("a"), child("b")))
            await aio.sleep(1)
            task.cancel()
            with pytest.raises(CancelledError):
                await task
            log.append("main")

        async def aio_gather(*children: Coroutine[Any, Any, None]) -> None:
            await aio.gather(*children)

        aio.run(main())
        assert log == ["a", "b", "main"]

    def test_of_a_non_awaitable_is_a_type_error(self, aio: AsyncioFacade) -> None:
        """With the type that was given."""
        with pytest.raises(TypeError, match="a `int` cannot be awaited"):
            aio.gather(1)  # type: ignore[arg-type]


class TestWaitFor:
    def test_gives_the_result_in_time(self, aio: AsyncioFacade, clock: IdleClock) -> None:
        """And does not wait for the rest of the time."""
        assert aio.run(aio.wait_for(aio.sleep(1, "x"), 5)) == "x"
        assert clock.now == 1.0

    def test_raises_the_error_of_what_it_waits_for(self, aio: AsyncioFacade) -> None:
        """An error in time is the error."""
        with pytest.raises(KeyError):
            aio.run(aio.wait_for(failing(KeyError()), 5))

    def test_cancels_what_is_late_and_raises_timeout_error(
        self, aio: AsyncioFacade, clock: IdleClock
    ) -> None:
        """The builtin TimeoutError, after the clean-up of what was late."""
        log: list[str] = []

        async def slow() -> None:
            try:
                await aio.sleep(100)
            finally:
                await aio.sleep(1)
                log.append("cleaned")

        with pytest.raises(TimeoutError):
            aio.run(aio.wait_for(slow(), 2))
        assert (log, clock.now) == (["cleaned"], 3.0)

    def test_without_a_time_waits_for_ever(self, aio: AsyncioFacade, clock: IdleClock) -> None:
        """None means no limit."""
        assert aio.run(aio.wait_for(aio.sleep(10**6, 1), None)) == 1
        assert clock.now == 10**6

    def test_when_cancelled_cancels_what_it_waits_for(
        self, aio: AsyncioFacade, clock: IdleClock
    ) -> None:
        """Cancellation is not a timeout."""
        log: list[str] = []

        async def slow() -> None:
            try:
                await aio.sleep(100)
            finally:
                log.append("cleaned")

        async def main() -> None:
            task = aio.create_task(aio.wait_for(slow(), 50))
            await aio.sleep(1)
            task.cancel()
            with pytest.raises(CancelledError):
                await task

        aio.run(main())
        assert (log, clock.now) == (["cleaned"], 1.0)


class TestCreateTask:
    def test_runs_while_others_wait(self, aio: AsyncioFacade, clock: IdleClock) -> None:
        """Two concurrent sleeps take the time of the longer."""

        async def main() -> Any:
            task = aio.create_task(aio.sleep(2, "task"), name="mine")
            await aio.sleep(1)
            return await task

        assert (aio.run(main()), clock.now) == ("task", 2.0)

    @pytest.mark.parametrize("wrong", [None, 1, print])
    def test_takes_coroutines_only(self, aio: AsyncioFacade, wrong: Any) -> None:
        """A function that was not called is the usual slip."""
        with pytest.raises(TypeError):
            aio.create_task(wrong)
        with pytest.raises(TypeError, match="takes a coroutine"):
            aio.create_task(aio._loop.future())  # type: ignore[arg-type]


class TestRun:
    def test_gives_the_result_or_the_error(self, aio: AsyncioFacade) -> None:
        """As top-level await does."""
        assert aio.run(aio.sleep(1, 3)) == 3
        with pytest.raises(KeyError):
            aio.run(failing(KeyError()))

    def test_works_inside_a_running_task(self, aio: AsyncioFacade) -> None:
        """Agents write `asyncio.run(main())` even where they could await it."""
        log: list[str] = []

        async def other() -> None:
            await aio.sleep(1)
            log.append("other")

        async def inner() -> str:
            await aio.gather(aio.sleep(2), aio.sleep(3))
            return "inner"

        async def main() -> None:
            aio.create_task(other())
            aio.create_task(other())
            await aio.sleep(0)
            log.append(aio.run(inner()))
            await aio.sleep(1)

        aio.run(main())
        assert log == ["other", "other", "inner"]


def test_a_runner_runs_coroutines_one_after_the_other() -> None:
    """Tasks go on from one to the next, and end with the runner."""
    source = """
import asyncio
seen = []
async def tick():
    try:
        await asyncio.sleep(1000)
    finally:
        seen.append("cancelled")
async def start():
    seen.append(asyncio.create_task(tick(), name="t").get_name())
    await asyncio.sleep(0)
async def tasks():
    return len(asyncio.all_tasks())
with asyncio.Runner() as runner:
    runner.run(start())
    seen.append(runner.run(tasks()))
seen
"""
    assert run(source).value == ["t", 2, "cancelled"]
