"""(4) What the `asyncio` of user space has of newer Pythons, and where it differs.

What it shares with the library is in test_asyncio_differential.
"""

from __future__ import annotations

from typing import Any

import pytest

from caps.worker.inside.aio.errors import CancelledError
from caps.worker.inside.aio.futures import Task
from caps.worker.inside.aio.gather import gather
from caps.worker.inside.aio.loop import Loop
from caps.worker.inside.aio.shutdown import report_unretrieved, shutdown
from support.language_programs import make_globals, power_of, run


def printed(source: str) -> list[str]:
    """The lines that a program prints."""
    return run(f"import asyncio\n{source}").printed.splitlines()


class TestQueueShutdown:
    def test_lets_what_is_in_the_queue_be_taken(self) -> None:
        """No more puts; gets until it is empty."""
        source = """
queue = asyncio.Queue()
queue.put_nowait(1)
queue.shutdown()
try:
    await queue.put(2)
except asyncio.QueueShutDown:
    print("no put")
print(await queue.get())
try:
    await queue.get()
except asyncio.QueueShutDown:
    print("no get")
"""
        assert printed(source) == ["no put", "1", "no get"]

    def test_wakes_those_who_wait(self) -> None:
        """Neither a getter nor a putter is left behind."""
        source = """
empty, full = asyncio.Queue(), asyncio.Queue(1)
full.put_nowait(1)
tasks = [asyncio.create_task(wait) for wait in (empty.get(), empty.get(), full.put(2))]
await asyncio.sleep(0)
empty.shutdown()
full.shutdown()
print([type(end).__name__ for end in await asyncio.gather(*tasks, return_exceptions=True)])
"""
        assert printed(source) == [str(["QueueShutDown"] * 3)]

    def test_at_once_drops_what_is_left_and_counts_it_as_dealt_with(self) -> None:
        """A task that joins continues."""
        source = """
queue = asyncio.Queue()
for n in range(3):
    queue.put_nowait(n)
joining = asyncio.create_task(queue.join())
await asyncio.sleep(0)
queue.shutdown(immediate=True)
await joining
print(queue.empty())
"""
        assert printed(source) == ["True"]


class TestAsCompleted:
    def test_gives_the_tasks_themselves_to_async_for(self) -> None:
        """As since Python 3.13: it is seen which one is done."""
        source = """
async def after(turns):
    for _ in range(turns):
        await asyncio.sleep(0)
    return turns
tasks = {asyncio.create_task(after(n)): n for n in (5, 1, 3)}
async for task in asyncio.as_completed(tasks):
    print(tasks[task], await task)
"""
        assert printed(source) == ["1 1", "3 3", "5 5"]

    def test_raises_timeout_error_out_of_async_for(self) -> None:
        """At the first that comes too late."""
        source = """
try:
    async for task in asyncio.as_completed([asyncio.Future()], timeout=0):
        print("never")
except TimeoutError:
    print("TimeoutError")
"""
        assert printed(source) == ["TimeoutError"]

    def test_starts_coroutines_in_the_order_they_were_given(self) -> None:
        """The library starts them in any order."""
        source = """
async def noted(n):
    print(n)
for each in asyncio.as_completed([noted(n) for n in range(5)]):
    await each
"""
        assert printed(source) == ["0", "1", "2", "3", "4"]


class TestNestedRun:
    def test_leaves_what_was_started_running(self) -> None:
        """In a program that awaits at the top level the loop is not `run`'s own."""
        source = """
async def started():
    await asyncio.sleep(0)
    print("went on")
async def main():
    asyncio.create_task(started())
    return 1
print(asyncio.run(main()))
await asyncio.sleep(0)
await asyncio.sleep(0)
"""
        assert printed(source) == ["1", "went on"]

    def test_knows_the_task_that_called_it_again_afterwards(self) -> None:
        """Inside, the current task is the inner one."""
        source = """
async def inner():
    return asyncio.current_task().get_name()
outer = asyncio.current_task()
print(asyncio.run(inner()) != outer.get_name(), asyncio.current_task() is outer)
await asyncio.sleep(0)
"""
        assert printed(source) == ["True True"]


class TestTimers:
    def test_cancelled_ones_do_not_pile_up(self) -> None:
        """A limit that is never reached costs no memory until its time."""
        loop = Loop(lambda _timeout: None)
        for _ in range(10_000):
            loop.call_after(3600, print, None).cancel()
        assert len(loop._timers) < 1000

    def test_those_that_wait_are_kept(self) -> None:
        """Only cancelled timers are removed."""
        loop = Loop(lambda _timeout: None)
        kept = [loop.timer(3600) for _ in range(500)]
        for _ in range(10_000):
            loop.timer(3600).cancel()
        assert [timer for _, _, timer in sorted(loop._timers) if timer in kept] == kept

    @pytest.mark.parametrize("call", ["timeout", "timeout_at"])
    def test_what_is_no_number_is_refused(self, call: str) -> None:
        """It would upset the order of all the others."""
        source = f"""
try:
    async with asyncio.{call}(float("nan")):
        pass
except ValueError as error:
    print(error)
"""
        assert printed(source) == ["a time must be a number, not NaN"]


class Ear:
    """Collects errors that nobody will retrieve."""

    def __init__(self, loop: Loop) -> None:
        self.heard: list[tuple[str, BaseException]] = []
        loop.set_error_handler(lambda what, error: self.heard.append((what, error)))


@pytest.fixture
def loop() -> Loop:
    return Loop(lambda _timeout: None)


async def failing(error: BaseException) -> None:
    raise error


class TestUnseenErrors:
    def test_of_a_task_that_is_gone_are_reported_between_turns(self, loop: Loop) -> None:
        """It cannot be retrieved any more."""
        ear, error = Ear(loop), ValueError("x")
        loop.task(failing(error), name="mine")
        loop._turn()
        loop._turn()
        assert ear.heard == [("Task 'mine' exception was never retrieved", error)]

    def test_of_a_task_that_is_held_are_reported_at_the_end_in_order(self, loop: Loop) -> None:
        """Until then somebody might ask."""
        ear, errors = Ear(loop), [ValueError("x"), KeyError("y")]
        held = [loop.task(failing(error)) for error in errors]
        loop._turn()
        loop._turn()
        assert ear.heard == []
        report_unretrieved(loop)
        report_unretrieved(loop)
        assert [error for _, error in ear.heard] == errors
        assert all(task.done() for task in held)

    @pytest.mark.parametrize("ask", ["result", "exception", "cancel"])
    def test_are_not_told_once_somebody_asked(self, loop: Loop, ask: str) -> None:
        """As in asyncio, cancelling what is done counts as well."""
        ear = Ear(loop)
        task = loop.task(failing(KeyError()))
        loop._turn()
        if ask == "result":
            with pytest.raises(KeyError):
                task.result()
        else:
            getattr(task, ask)()
        del task
        loop._turn()
        report_unretrieved(loop)
        assert ear.heard == []

    def test_of_a_future_and_of_a_callback_are_reported(self, loop: Loop) -> None:
        """Not only tasks fail."""
        ear = Ear(loop)
        loop.future().set_exception(KeyError())
        loop.call_soon(lambda number: 1 / number, 0)
        loop._turn()
        loop._turn()
        assert [(what, type(error)) for what, error in ear.heard] == [
            ("Future exception was never retrieved", KeyError),
            ("Exception in callback", ZeroDivisionError),
        ]

    def test_of_cancelled_tasks_are_none(self, loop: Loop) -> None:
        """A cancellation is not an error, also not in a gather."""
        ear = Ear(loop)
        loop.task(failing(KeyError())).cancel()
        gather(failing(KeyError()), failing(KeyError())).cancel()
        for _ in range(4):
            loop._turn()
        report_unretrieved(loop)
        assert ear.heard == []


class TestTheEnd:
    def test_what_is_not_done_in_time_is_abandoned(self) -> None:
        """A task that swallows its cancellation cannot keep the result back."""
        now = 0.0

        def idle(timeout: float | None) -> None:
            nonlocal now
            assert timeout is not None
            now += timeout

        loop = Loop(idle)
        stubborn = loop.task(swallowing(loop))
        loop._turn()
        shutdown(loop, {stubborn}, seconds=0.05)
        assert not stubborn.done()

    def test_nothing_is_run_if_nothing_is_left(self, loop: Loop) -> None:
        """The common case costs nothing."""
        shutdown(loop, loop._tasks, seconds=None)
        assert not loop._ready


async def swallowing(loop: Loop) -> None:
    while True:
        try:
            await loop.timer(0.01)
        except CancelledError:
            continue


MADE = """
import asyncio
from asyncio import Task
class Fake:
    def _step(self, woken):
        pass
    def _schedule(self):
        pass
    def _disarm(self):
        pass
async def nothing():
    pass
async def main():
    kinds = [asyncio.Future, asyncio.Task, asyncio.Lock, asyncio.Event, asyncio.Queue,
             asyncio.Semaphore, asyncio.Condition, asyncio.TaskGroup, asyncio.Timeout,
             asyncio.Barrier, asyncio.Handle, type(asyncio.gather()),
             type(asyncio.as_completed([])), type(asyncio.get_running_loop())]
    fakes = []
    for kind in kinds:
        for arguments in ((), (1,), (None,), ([], None), ([], True), (1, print, None)):
            fake = Fake()
            fake._state = 0
            try:
                kind.__init__(fake, *arguments)
                fakes.append(fake)
            except (AttributeError, TypeError):
                continue
    for kind in (asyncio.TaskGroup, asyncio.Timeout):
        for fake in list(fakes):
            try:
                await kind.__aenter__(fake)
            except (AttributeError, RuntimeError, TypeError):
                continue
    coroutine = nothing()
    try:
        Task.__init__(Fake(), coroutine)
    except TypeError as error:
        print(error)
    coroutine.close()
    return fakes
await main()
"""


class TestObjectsInUsersHands:
    def test_put_nothing_powerful_on_an_object_of_the_users_own(self) -> None:
        """A method may be called with any `self`; what it stores there can be read."""
        ran = run(MADE)
        assert ran.printed == "a task is made by calling Task\n"
        assert len(ran.value) > 10
        for fake in ran.value:
            for value in vars(fake).values():
                assert power_of(value) is None
                assert not isinstance(value, Loop)

    def test_cannot_be_changed(self) -> None:
        """A method that the loop calls stays the one that it was."""
        names = make_globals(Loop(lambda _timeout: None), [], {})
        facade = names["__builtins__"]["__import__"]("asyncio")
        classes = [
            value
            for value in (getattr(facade, name) for name in dir(facade))
            if isinstance(value, type) and not issubclass(value, BaseException)
        ]
        assert len(classes) > 10
        for kind in classes:
            with pytest.raises(TypeError, match=f"cannot be set on `{kind.__name__}`"):
                setattr(kind, "cancel", 1)  # noqa: B010 - as user code would
            with pytest.raises(TypeError, match=f"cannot be deleted from `{kind.__name__}`"):
                delattr(kind, "__init__")

    @pytest.mark.parametrize(
        ("made", "shown"),
        [
            ("asyncio.Lock", "<class 'asyncio.Lock'>"),
            ("asyncio.Lock()", "<Lock [unlocked]>"),
            ("asyncio.Event()", "<Event [unset]>"),
            ("asyncio.Semaphore(2)", "<Semaphore [unlocked, value:2]>"),
            ("asyncio.Condition()", "<Condition [unlocked]>"),
            ("asyncio.Barrier(2)", "<Barrier [filling, waiters:0/2]>"),
            ("asyncio.PriorityQueue(3)", "<PriorityQueue maxsize=3 items=0>"),
            ("asyncio.TaskGroup()", "<TaskGroup tasks=0 errors=0>"),
            ("asyncio.timeout(None)", "<Timeout [created]>"),
            ("asyncio.Future()", "<Future pending>"),
            ("asyncio.CancelledError", "<class 'asyncio.exceptions.CancelledError'>"),
        ],
    )
    def test_are_shown_as_asyncios_own(self, made: str, shown: str) -> None:
        """Nothing in what is printed names our modules."""
        assert printed(f"print({made})") == [shown]

    def test_the_name_of_a_task_is_plain_text(self) -> None:
        """Whatever `__str__` returns, none of its code runs when the name is reported."""
        source = """
class Odd(str):
    def __repr__(self):
        raise ValueError("odd")
class Name:
    def __str__(self):
        return Odd("x")
task = asyncio.create_task(asyncio.sleep(0), name=Name())
print(task, type(task.get_name()) is str)
await task
"""
        assert printed(source) == ["<Task 'x' pending> True"]

    def test_a_future_shows_how_it_ended(self) -> None:
        """Its result or its error, shortened."""
        loop = Loop(lambda _timeout: None)
        done: Any = loop.future()
        done.set_result("x" * 1000)
        assert repr(done).startswith("<Future finished result='xxx")
        assert len(repr(done)) < 100
        failed = Task(failing(KeyError("k")), name="t")
        loop._turn()
        assert repr(failed) == "<Task 't' finished exception=KeyError('k')>"
        failed.exception()

    @pytest.mark.parametrize("wrong", ["StopIteration", "StopIteration()", "1", "int"])
    def test_a_future_refuses_what_cannot_be_raised_into_it(self, wrong: str) -> None:
        """A StopIteration would end the coroutine instead."""
        source = f"""
try:
    asyncio.Future().set_exception({wrong})
except TypeError as error:
    print(error)
"""
        assert printed(source)[0].endswith("cannot be raised into a future")
