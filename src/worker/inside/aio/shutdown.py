"""(4) What a program leaves behind when it ends: running tasks, open generators, unseen errors.

As with `asyncio.run`: tasks are cancelled and may clean up, then asynchronous generators are
closed, and an error that nobody asked for is told.
"""

from __future__ import annotations

from collections.abc import Iterable

from caps.worker.inside.aio.futures import Future, Task
from caps.worker.inside.aio.wait import wait
from caps.worker.inside.aio.loop import Loop, closes, closing


def end_all(loop: Loop, tasks: Iterable[Task], *, seconds: float | None) -> None:
    """Cancel `tasks` and close what generates; what takes longer than `seconds` is abandoned."""
    left = [task for task in tasks if not task.done()]
    for task in left:
        if not closes(task):
            task.cancel()
    _run_all(loop, left, seconds)
    if len(loop._generators):  # to go through an empty set of weak references takes longer
        _run_all(loop, [Task(closing(each)) for each in list(loop._generators)], seconds)


def wind_up(loop: Loop, seconds: float) -> None:
    """End all, and give up what does not end: nothing of it reaches the next cell."""
    try:
        end_all(loop, loop._tasks, seconds=seconds)
    finally:
        loop.abandon()


def _run_all(loop: Loop, tasks: list[Task], seconds: float | None) -> None:
    if tasks:
        loop.run(Task(wait(tasks, timeout=seconds)))


def turn_once(loop: Loop) -> None:
    """One turn for what was started and never waited for, as after the end of a coroutine."""
    if loop._ready:
        ended = Future()
        ended._finish(None, None)
        loop.run(ended)


def tell_unretrieved(loop: Loop) -> None:
    """Tell of every error that nobody has asked for, oldest first."""
    if len(loop._unretrieved):
        for each in sorted(loop._unretrieved, key=lambda one: one.number):
            each.tell()
    loop._tell_lost()
