"""When a worker is put on the processor of its host, and when it is put back."""

from __future__ import annotations

from collections.abc import Callable

import anyio
import pytest

from caps.worker.host.process.scheduling import Scheduling
from caps.worker.host.process.shared_processor import CallLater, SharedProcessor, Sharing, Timer

QUICK = 0.001
TICK = 0.005


class Machine(Scheduling):
    """What the kernel would say; a test sets it."""

    def __init__(self) -> None:
        super().__init__()
        self.is_usable = True
        self.processor = 3
        self.busy = False
        self.asked = 0

    def find_out(self) -> None:
        self.asked += 1

    def current_processor(self) -> int:
        return self.processor

    def is_busy(self, ours: int) -> bool:
        assert ours in (1, 2)
        return self.busy


class Worker:
    """A worker, and where it was put: a processor, or None when it is apart."""

    def __init__(self) -> None:
        self.at: int | None = None
        self.moves: list[int | None] = []
        self.possible = True

    def near(self, processor: int) -> bool:
        self.at = processor if self.possible else None
        self.moves.append(self.at)
        return self.possible

    def apart(self) -> None:
        if self.at is not None:
            self.at = None
            self.moves.append(None)


class FakeTimer:
    def __init__(self, due: float, callback: Callable[[], None]) -> None:
        self.due = due
        self.callback = callback
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True


class Setup:
    """One process whose clock and timers a test moves."""

    def __init__(self, *, asyncio: bool = True) -> None:
        self.now = 100.0
        self.machine = Machine()
        self.timers: list[FakeTimer] = []
        self.sharing = Sharing(
            self.machine, lambda: self.now, lambda: self._call_later if asyncio else None
        )

    def _call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        self.timers.append(FakeTimer(self.now + seconds, callback))
        return self.timers[-1]

    def serve(self, worker: Worker) -> SharedProcessor:
        return SharedProcessor(worker, self.sharing).__enter__()

    def begin(self, worker: Worker) -> SharedProcessor:
        """One whose calls come quickly from the start."""
        shared = self.serve(worker)
        self.call(shared)
        self.call(shared)
        return shared

    def call(self, shared: SharedProcessor, after: float = QUICK) -> None:
        self.now += after
        shared.report()

    def tick(self) -> None:
        """Fire the timers of the next tick."""
        self.now += TICK
        due = [timer for timer in self.timers if timer.due <= self.now and not timer.is_cancelled]
        self.timers = [timer for timer in self.timers if timer not in due]
        for timer in due:
            timer.callback()

    @property
    def waiting(self) -> list[FakeTimer]:
        return [timer for timer in self.timers if not timer.is_cancelled]


def test_one_that_calls_often_is_put_near() -> None:
    """On the processor of the thread that serves it."""
    setup, worker = Setup(), Worker()
    setup.begin(worker)
    assert worker.moves == [3]


def test_the_first_calls_do_not_move_it() -> None:
    """Most executions make few."""
    setup, worker = Setup(), Worker()
    setup.call(setup.serve(worker))
    assert worker.moves == []


def test_one_that_calls_seldom_is_left_alone() -> None:
    """Its calls are far apart, however many there are."""
    setup, worker = Setup(), Worker()
    shared = setup.serve(worker)
    for _ in range(100):
        setup.call(shared, after=0.0041)
    assert worker.moves == []


def test_it_stays_near_while_it_goes_on() -> None:
    """Nothing is called for it again."""
    setup, worker = Setup(), Worker()
    shared = setup.begin(worker)
    for _ in range(100):
        setup.call(shared)
        setup.tick()
    assert worker.moves == [3]


def test_it_follows_the_thread_of_the_host() -> None:
    """The kernel may move that at any time, as it is not pinned."""
    setup, worker = Setup(), Worker()
    shared = setup.begin(worker)
    setup.machine.processor = 5
    setup.call(shared)
    assert worker.moves == [3, 5]


def test_it_is_put_back_when_its_calls_stop() -> None:
    """In the first tick without a report: it computes, waits, or is not given any time."""
    setup, worker = Setup(), Worker()
    shared = setup.begin(worker)
    setup.call(shared)
    setup.tick()
    assert worker.at == 3
    setup.tick()
    assert worker.moves == [3, None]
    assert setup.waiting == []


def test_it_is_put_back_when_its_execution_ends() -> None:
    """And no timer is left."""
    setup, worker = Setup(), Worker()
    with setup.begin(worker):
        assert worker.at == 3
    assert worker.moves == [3, None]
    assert setup.waiting == []


def test_what_has_ended_is_not_put_near_again() -> None:
    """A late report changes nothing."""
    setup, worker = Setup(), Worker()
    with setup.begin(worker) as shared:
        pass
    setup.call(shared)
    setup.call(shared)
    assert worker.at is None


def test_an_interrupt_in_between_leaves_it_apart() -> None:
    """KeyboardInterrupt may come at any place, here before the timer is set."""
    setup, worker = Setup(), Worker()

    def interrupted(_seconds: float, _callback: Callable[[], None]) -> Timer:
        raise KeyboardInterrupt

    shared = SharedProcessor(worker, setup.sharing)
    with pytest.raises(KeyboardInterrupt), shared:
        shared._call_later = interrupted
        setup.call(shared)
        setup.call(shared)
    assert worker.moves == [3, None]


def test_a_second_execution_ends_it() -> None:
    """Both would wait for one processor; nested executions are two as well."""
    setup, worker, other = Setup(), Worker(), Worker()
    shared = setup.begin(worker)
    second = setup.begin(other)
    assert (worker.at, other.at) == (3, None)
    for _ in range(2):
        setup.call(shared)
        setup.tick()
    assert worker.at is None
    second.__exit__()
    setup.now += 0.01
    setup.call(shared)
    setup.call(shared)
    assert worker.at == 3


def test_a_machine_without_an_idle_processor_leaves_it_alone() -> None:
    """It is asked again some milliseconds later."""
    setup, worker = Setup(), Worker()
    setup.machine.busy = True
    shared = setup.begin(worker)
    setup.machine.busy = False
    setup.call(shared)
    assert worker.moves == []
    setup.now += 0.01
    setup.call(shared)
    setup.call(shared)
    assert worker.at == 3


def test_a_machine_that_gets_busy_ends_it() -> None:
    """In the second tick: for one tick, any short task would do."""
    setup, worker = Setup(), Worker()
    shared = setup.begin(worker)
    for busy, at in ((True, 3), (False, 3), (True, 3), (True, None)):
        setup.machine.busy = busy
        setup.call(shared)
        setup.tick()
        assert worker.at == at


def near_for(setup: Setup, shared: SharedProcessor, seconds: float) -> None:
    """Put near, keep it for so long, and stop calling."""
    end = setup.now + seconds
    setup.call(shared)
    setup.call(shared)
    while setup.now < end:
        setup.call(shared)
        setup.tick()
    setup.tick()


def attempts(setup: Setup, worker: Worker, shared: SharedProcessor) -> float:
    """How long it takes until the worker is near again, while it calls all the time."""
    began = setup.now
    while worker.at is None:
        setup.call(shared)
    return setup.now - began


def test_each_attempt_that_fails_soon_makes_the_next_one_later() -> None:
    """From a tenth of a second to two seconds."""
    setup, worker = Setup(), Worker()
    shared = setup.begin(worker)
    pauses = []
    for _ in range(7):
        setup.tick()
        setup.tick()
        assert worker.at is None
        pauses.append(attempts(setup, worker, shared))
    assert pauses == pytest.approx([0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0], abs=0.02)


def test_the_pause_holds_for_the_next_execution() -> None:
    """What took the processor may still be there."""
    setup, worker, second = Setup(), Worker(), Worker()
    with setup.begin(worker):
        setup.tick()
        setup.tick()
    setup.begin(second)
    assert second.moves == []


def test_one_that_was_near_for_long_needs_no_pause() -> None:
    """It paid; and the next failure waits for a short time again."""
    setup, worker = Setup(), Worker()
    shared = setup.begin(worker)
    for _ in range(3):
        setup.tick()
        setup.tick()
        attempts(setup, worker, shared)
    near_for(setup, shared, 0.2)
    assert worker.at is None
    assert attempts(setup, worker, shared) < 0.01
    setup.tick()
    setup.tick()
    assert attempts(setup, worker, shared) == pytest.approx(0.1, abs=0.02)


def test_where_it_is_not_possible_it_is_tried_once() -> None:
    """For this execution; the worker has changed nothing."""
    setup, worker = Setup(), Worker()
    worker.possible = False
    shared = setup.begin(worker)
    setup.call(shared)
    setup.call(shared)
    assert worker.moves == [None]
    assert setup.waiting == []


def test_a_move_that_fails_ends_it() -> None:
    """Such as a processor that the worker may not use."""
    setup, worker = Setup(), Worker()
    shared = setup.begin(worker)
    setup.machine.processor, worker.possible = 5, False
    setup.call(shared)
    assert worker.at is None
    assert setup.waiting == []


@pytest.mark.parametrize("usable", [False, None])
def test_a_process_that_could_not_put_it_back_does_not_begin(usable: bool | None) -> None:
    """Nor one that does not know yet, which finds out."""
    setup, worker = Setup(), Worker()
    setup.machine.is_usable = usable
    shared = setup.begin(worker)
    assert worker.moves == []
    assert setup.machine.asked == (usable is None)
    setup.machine.is_usable = True
    setup.call(shared)
    assert worker.at == 3


@pytest.mark.anyio
@pytest.mark.parametrize(("anyio_backend", "has_timers"), [("asyncio", True), ("trio", False)])
async def test_only_asyncio_has_the_timers(has_timers: bool) -> None:
    """On trio nothing is ever changed."""
    await anyio.lowlevel.checkpoint()
    timers: CallLater | None = Sharing().timers()
    assert (timers is not None) is has_timers
    setup, worker = Setup(asyncio=has_timers), Worker()
    setup.begin(worker)
    assert (worker.at == 3) is has_timers
