"""(4) Random tasks with locks, queues, timeouts and cancellations behave as in asyncio.

A schedule is what each task does, step by step; one program plays it and prints every step.
Python's own asyncio plays the same one on the same kind of clock.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.asyncio_comparison import run_in_user_space, run_natively

PLAYER = """
import asyncio

async def play(name, steps, shared):
    for number, (what, amount) in enumerate(steps):
        # No two times are the same: asyncio does not promise who is first then.
        seconds = amount and amount + 1 / (101 + 7 * name + number)
        try:
            await step(what, amount, seconds, shared)
            print(name, number, what)
        except (TimeoutError, asyncio.QueueEmpty, asyncio.QueueFull) as error:
            print(name, number, what, type(error).__name__)
        except asyncio.CancelledError as error:
            print(name, number, what, "cancelled", error.args)
            if amount % 2:
                raise
    return name

async def step(what, amount, seconds, shared):
    lock, event, queue, group = shared["lock"], shared["event"], shared["queue"], shared["tasks"]
    if what == "sleep":
        await asyncio.sleep(seconds)
    elif what == "lock":
        async with lock:
            await asyncio.sleep(seconds)
    elif what == "wait":
        async with asyncio.timeout(seconds):
            await event.wait()
    elif what == "set":
        event.set()
    elif what == "clear":
        event.clear()
    elif what == "put":
        async with asyncio.timeout(seconds):
            await queue.put(amount)
    elif what == "get":
        async with asyncio.timeout(seconds):
            await queue.get()
    elif what == "put now":
        queue.put_nowait(amount)
    elif what == "get now":
        queue.get_nowait()
    elif what == "cancel":
        group[amount % len(group)].cancel(amount)
    elif what == "gather":
        await asyncio.gather(asyncio.sleep(seconds), asyncio.sleep(seconds / 2))
    elif what == "both":
        async with asyncio.timeout(seconds), lock:
            await asyncio.sleep(seconds / 3)

async def main():
    shared = {"lock": asyncio.Lock(), "event": asyncio.Event(), "queue": asyncio.Queue(2)}
    tasks = shared["tasks"] = []
    for name, steps in enumerate(SCHEDULE):
        tasks.append(asyncio.create_task(play(name, steps, shared)))
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    print([end if isinstance(end, int) else type(end).__name__ for end in ended])
    time = round(asyncio.get_running_loop().time(), 6)
    print(shared["lock"].locked(), shared["queue"].qsize(), time)

asyncio.run(main())
"""

STEPS = [
    *("sleep", "lock", "wait", "set", "clear", "put", "get", "put now", "get now", "cancel"),
    *("gather", "both"),
]
schedules = st.lists(
    st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 3)), max_size=6),
    min_size=1,
    max_size=5,
)


@given(schedules)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_any_schedule_goes_as_under_asyncio(schedule: list[list[tuple[str, int]]]) -> None:
    """Every step, in the same order, at the same time, with the same end."""
    source = f"SCHEDULE: object = {schedule!r}\n{PLAYER}"
    with pytest.MonkeyPatch.context() as native:
        expected = run_natively(source, native)
    with pytest.MonkeyPatch.context() as ours:
        assert run_in_user_space(source, ours) == expected


def test_the_player_plays() -> None:
    """A schedule with everything in it prints its steps: the property above is not vacuous."""
    schedule: list[list[tuple[Any, int]]] = [[(what, 1) for what in STEPS] for _ in range(2)]
    with pytest.MonkeyPatch.context() as ours:
        lines = run_in_user_space(f"SCHEDULE = {schedule!r}\n{PLAYER}", ours).splitlines()
    assert {what for what in STEPS if any(f" {what}" in line for line in lines)} == set(STEPS)
