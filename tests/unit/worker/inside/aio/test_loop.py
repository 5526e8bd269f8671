"""(4) The worker's event loop: turns, timers and cancellation, as asyncio would have them.

The clock moves only when the loop is idle, so no test waits.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from caps.worker.inside.aio import loop as loop_module
from caps.worker.inside.aio.loop import (
    CancelledError,
    Future,
    InvalidStateError,
    Loop,
    ensure_future,
)
from caps.worker.inside.aio.shutdown import cancel_tasks
from support.idle_clock import IdleClock, LoopStuckError


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> IdleClock:
    made = IdleClock(1000.0)
    monkeypatch.setattr(loop_module, "time", made)
    return made


@pytest.fixture
def loop(clock: IdleClock) -> Loop:
    return Loop(clock.idle)


async def noted(log: list[str], name: str, value: Any = None) -> Any:
    log.append(name)
    return value


class TestFuture:
    def test_has_a_result_once_it_is_finished(self, loop: Loop) -> None:
        """Before, asking for it is an error."""
        future = loop.future()
        for ask in (future.result, future.exception):
            with pytest.raises(InvalidStateError):
                ask()
        future._finish(7, None)
        assert (future.done(), future.result(), future.exception()) == (True, 7, None)

    def test_is_finished_only_once(self, loop: Loop) -> None:
        """A late answer to a cancelled future changes nothing."""
        future = loop.future()
        assert future.cancel()
        future._finish(7, None)
        assert future.cancelled()
        assert not future.cancel()

    def test_raises_the_error_it_was_given(self, loop: Loop) -> None:
        """An error is a result like another."""
        future = loop.future()
        error = ValueError("x")
        future._finish(None, error)
        with pytest.raises(ValueError, match="x"):
            future.result()
        assert future.exception() is error

    def test_calls_its_callbacks_in_order_on_the_next_turn(self, loop: Loop) -> None:
        """First added, first called; added late, called anyway; never immediately."""
        log: list[str] = []
        future = loop.future()
        future.add_done_callback(lambda _: log.append("first"))
        future.add_done_callback(lambda _: log.append("second"))
        future._finish(None, None)
        future.add_done_callback(lambda _: log.append("late"))
        assert log == []
        loop._turn()
        assert log == ["first", "second", "late"]

    def test_that_is_done_is_awaited_without_a_turn(self, loop: Loop) -> None:
        """What is there is taken."""
        future = loop.future()
        future._finish(7, None)
        with pytest.raises(StopIteration) as stop:
            future.__await__().send(None)
        assert stop.value.value == 7


class TestTask:
    def test_starts_on_the_next_turn(self, loop: Loop) -> None:
        """Making a task runs nothing yet."""
        log: list[str] = []
        task = loop.task(noted(log, "ran", 3))
        assert log == []
        assert (loop.run(task), log) == (3, ["ran"])

    def test_tasks_start_in_the_order_they_were_made(self, loop: Loop) -> None:
        """Turns are fair."""
        log: list[str] = []
        tasks = [loop.task(noted(log, name)) for name in "abc"]
        loop.run(tasks[-1])
        assert log == ["a", "b", "c"]

    def test_gives_its_error_to_whoever_awaits_it(self, loop: Loop) -> None:
        """An error travels along the awaits."""

        async def fail() -> None:
            raise KeyError("k")

        async def main() -> str:
            try:
                await loop.task(fail())
            except KeyError as error:
                return f"caught {error}"
            return "nothing"

        assert loop.run(loop.task(main())) == "caught 'k'"

    @pytest.mark.parametrize("foreign", [False, 1, "x"])
    def test_awaiting_what_the_loop_does_not_know_is_an_error_in_the_task(
        self, loop: Loop, foreign: object
    ) -> None:
        """The task can catch it; the loop continues."""

        class Foreign:
            def __await__(self) -> Generator[Any, None, None]:
                yield foreign

        async def main() -> str:
            try:
                await Foreign()
            except RuntimeError as error:
                return str(error)
            return "nothing"

        expected = f"a `{type(foreign).__name__}` cannot be awaited here"
        assert loop.run(loop.task(main())) == expected

    def test_a_bare_yield_gives_up_one_turn(self, loop: Loop) -> None:
        """As in asyncio: others run, and then it continues."""
        log: list[str] = []

        class Pause:
            def __await__(self) -> Generator[Any, None, None]:
                yield

        async def main() -> None:
            await Pause()
            log.append("main")

        loop.task(main())
        loop.run(loop.task(noted(log, "other")))
        assert log == ["other", "main"]

    def test_awaiting_itself_is_an_error(self, loop: Loop) -> None:
        """It would wait for ever."""
        tasks: list[Future] = []

        async def main() -> None:
            await tasks[0]

        tasks.append(loop.task(main()))
        with pytest.raises(RuntimeError, match="itself cannot be awaited here"):
            loop.run(tasks[0])

    def test_waiting_for_what_never_comes_idles(self, loop: Loop) -> None:
        """With nothing to do the loop asks to wait without end; it does not spin."""

        async def main() -> None:
            await loop.future()

        with pytest.raises(LoopStuckError):
            loop.run(loop.task(main()))


class TestCancellation:
    def test_arrives_at_the_await(self, loop: Loop) -> None:
        """The task sees CancelledError where it waits, and its clean-up runs."""
        log: list[str] = []

        async def patient() -> None:
            try:
                await loop.future()
            except CancelledError:
                log.append("cancelled")
                raise
            finally:
                log.append("cleaned")

        async def main() -> None:
            task = loop.task(patient())
            await loop.timer(0)
            assert task.cancel()
            with pytest.raises(CancelledError):
                await task
            assert task.cancelled()

        loop.run(loop.task(main()))
        assert log == ["cancelled", "cleaned"]

    def test_is_not_caught_by_except_exception(self, loop: Loop) -> None:
        """A loop that retries on every error can still be stopped."""

        async def stubborn() -> None:
            try:
                await loop.future()
            except Exception:
                await loop.future()

        async def main() -> bool:
            task = loop.task(stubborn())
            await loop.timer(0)
            task.cancel()
            await loop.timer(0)
            return task.cancelled()

        assert loop.run(loop.task(main())) is True

    def test_before_the_start_runs_nothing(self, loop: Loop) -> None:
        """A task that is cancelled immediately does not reach its first line."""
        log: list[str] = []
        task = loop.task(noted(log, "ran"))
        task.cancel()
        with pytest.raises(CancelledError):
            loop.run(task)
        assert log == []

    def test_can_be_swallowed(self, loop: Loop) -> None:
        """A task may decide to end in another way, and is then not cancelled."""

        async def main() -> str:
            try:
                await loop.future()
            except CancelledError:
                return "kept"
            return "nothing"

        task = loop.task(main())
        loop._turn()
        task.cancel()
        assert (loop.run(task), task.cancelled()) == ("kept", False)

    def test_reaches_the_task_that_is_awaited(self, loop: Loop) -> None:
        """Cancelling the outer one cancels the inner one first, and waits for its clean-up."""
        log: list[str] = []

        async def inner() -> None:
            try:
                await loop.future()
            finally:
                await loop.timer(5)
                log.append("inner")

        async def outer() -> None:
            try:
                await loop.task(inner())
            finally:
                log.append("outer")

        task = loop.task(outer())
        loop._turn()
        loop._turn()
        task.cancel()
        with pytest.raises(CancelledError):
            loop.run(task)
        assert log == ["inner", "outer"]

    def test_of_a_task_that_is_about_to_wake_steps_it_only_once(self, loop: Loop) -> None:
        """What it waited for is done, then it is cancelled: it gets that at this await only."""
        log: list[str] = []
        first, second = loop.future(), loop.future()

        async def main() -> Any:
            try:
                await first
            except CancelledError:
                log.append("cancelled")
            return await second

        task = loop.task(main())
        loop._turn()
        first._finish("one", None)
        assert task.cancel()
        loop._turn()
        loop._turn()
        assert (log, task.done()) == (["cancelled"], False)
        second._finish("two", None)
        assert loop.run(task) == "two"

    def test_of_itself_arrives_at_its_next_await(self, loop: Loop) -> None:
        """A task that cancels itself continues until it waits."""
        log: list[str] = []
        tasks: list[Future] = []

        async def main() -> None:
            tasks[0].cancel()
            log.append("still here")
            await loop.future()
            log.append("never")

        tasks.append(loop.task(main()))
        with pytest.raises(CancelledError):
            loop.run(tasks[0])
        assert log == ["still here"]

    def test_of_what_is_done_does_nothing(self, loop: Loop) -> None:
        """The result stays."""
        task = loop.task(noted([], "x", 1))
        loop.run(task)
        assert (task.cancel(), task.result()) == (False, 1)


class TestTimers:
    def test_fire_in_the_order_of_their_time(self, loop: Loop, clock: IdleClock) -> None:
        """Shorter first; equal ones in the order they were set."""
        log: list[str] = []

        async def after(seconds: float, name: str) -> None:
            await loop.timer(seconds)
            log.append(name)

        tasks = [
            loop.task(after(*each)) for each in ((3, "d"), (1, "a"), (2, "b"), (2, "c"), (9, "z"))
        ]
        loop.run(tasks[0])
        assert (log, clock.now) == (["a", "b", "c", "d"], 1003.0)

    def test_the_loop_waits_just_until_the_next_one(self, loop: Loop, clock: IdleClock) -> None:
        """It neither spins nor oversleeps."""

        async def main() -> None:
            await loop.timer(5)

        loop.run(loop.task(main()))
        assert [wait for wait in clock.waits if wait] == [5.0]

    def test_a_cancelled_one_is_not_waited_for(self, loop: Loop, clock: IdleClock) -> None:
        """The loop does not sleep for a cancelled timer."""

        async def main() -> None:
            long = loop.timer(100)
            long.cancel()
            await loop.timer(1)

        loop.run(loop.task(main()))
        assert clock.now == 1001.0

    def test_one_of_no_time_lets_others_run(self, loop: Loop) -> None:
        """Two tasks that only yield take turns."""
        log: list[str] = []

        async def count(name: str) -> None:
            for _ in range(2):
                log.append(name)
                await loop.timer(0)

        tasks = [loop.task(count(name)) for name in "ab"]
        loop.run(tasks[1])
        assert log == ["a", "b", "a", "b"]


class TestNestedRun:
    def test_a_task_may_run_the_loop_itself(self, loop: Loop) -> None:
        """Others continue meanwhile; the rest of the outer turn is neither lost nor run twice."""
        log: list[str] = []

        async def inner() -> str:
            await loop.timer(1)
            return "inner"

        async def outer() -> None:
            log.append(loop.run(loop.task(inner())))

        tasks = [loop.task(outer()), loop.task(noted(log, "b")), loop.task(noted(log, "c"))]
        loop.run(tasks[0])
        assert log == ["b", "c", "inner"]


class TestEnsureFuture:
    def test_leaves_futures_and_tasks_alone(self, loop: Loop) -> None:
        """What the loop knows is not wrapped again."""
        future = loop.future()
        assert ensure_future(future) is future

    def test_drives_anything_that_can_be_awaited(self, loop: Loop) -> None:
        """A coroutine, or an object with `__await__`."""

        class Custom:
            def __await__(self) -> Generator[Any, None, int]:
                yield from loop.timer(1).__await__()
                return 5

        assert loop.run(ensure_future(Custom())) == 5
        assert loop.run(ensure_future(noted([], "x", 6))) == 6

    @pytest.mark.parametrize("wrong", [None, 1, "x", print])
    def test_refuses_what_cannot_be_awaited(self, loop: Loop, wrong: Any) -> None:
        """With the type that was given."""
        with pytest.raises(TypeError, match="cannot be awaited"):
            ensure_future(wrong)


class TestWindingUp:
    def test_tasks_are_cancelled_and_clean_up(self, loop: Loop) -> None:
        """They may wait while they do."""
        log: list[str] = []

        async def stay() -> None:
            try:
                await loop.future()
            finally:
                await loop.timer(0.1)
                log.append("clean")

        task = loop.task(stay())
        loop.run(loop.timer(0))
        cancel_tasks(loop, 1.0)
        assert (log, task.cancelled()) == (["clean"], True)

    def test_a_task_that_never_began_does_not_begin(self, loop: Loop) -> None:
        """It is cancelled at its first step."""
        log: list[str] = []
        task = loop.task(noted(log, "ran"))
        cancel_tasks(loop, 1.0)
        assert (log, task.cancelled()) == ([], True)

    def test_one_that_will_not_end_is_given_up(self, loop: Loop, clock: IdleClock) -> None:
        """After its time, and it is never stepped again."""
        steps: list[float] = []

        async def stay() -> None:
            while True:
                try:
                    await loop.timer(0.25)
                except CancelledError:
                    steps.append(-1)
                steps.append(clock.now)

        task = loop.task(stay())
        loop.run(loop.timer(0))
        cancel_tasks(loop, 1.0)
        seen = list(steps)
        loop.run(loop.timer(5))
        assert (task.cancelled(), steps) == (True, seen)
        assert seen[0] == -1

    def test_a_callback_that_raises_stops_nothing(self, loop: Loop) -> None:
        """The shutdown gets the error; what is left is abandoned anyway."""
        first, second = (loop.task(_forever(loop)) for _ in range(2))

        def fail(_future: Future) -> None:
            raise SystemExit

        first.add_done_callback(fail)
        loop.run(loop.timer(0))
        with pytest.raises(SystemExit):
            cancel_tasks(loop, 1.0)
        assert (first.cancelled(), second.cancelled()) == (True, True)

    def test_nothing_is_left_for_later(self, loop: Loop) -> None:
        """Neither a callback nor a timer of what is over."""
        timer = loop.timer(0.5)
        woken: list[Future] = []
        timer.add_done_callback(woken.append)
        cancel_tasks(loop, 1.0)
        loop.run(loop.timer(2))
        assert woken == []


async def _forever(loop: Loop) -> None:
    await loop.future()
