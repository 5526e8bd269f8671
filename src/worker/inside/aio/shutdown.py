"""(4) Shutdown: cancel running tasks, close async generators, report unretrieved errors.

As in `asyncio.run`: tasks are cancelled and may clean up, then asynchronous generators are closed,
and an error that was never retrieved is reported.
"""

from __future__ import annotations

from collections.abc import Collection

from caps.worker.inside.aio.futures import Future, Task
from caps.worker.inside.aio.loop import Loop, closing, is_closing
from caps.worker.inside.aio.wait import wait


def shutdown(loop: Loop, tasks: Collection[Task], *, seconds: float | None) -> None:
    """Cancel `tasks` and close async generators; what takes longer than `seconds` is abandoned."""
    # Each step only if there is something: nearly always there is nothing.
    if tasks:
        left = [task for task in tasks if not task.done()]
        for task in left:
            if not is_closing(task):
                task.cancel()
        _run_all(loop, left, seconds)
    if loop._generators.data:  # type: ignore[attr-defined] # the set in it: `len` runs more code
        _run_all(loop, [Task(closing(each)) for each in list(loop._generators)], seconds)


def cancel_tasks(loop: Loop, seconds: float) -> None:
    """End all tasks, and abandon those that do not end: none of them reaches the next cell."""
    try:
        shutdown(loop, loop._tasks, seconds=seconds)
    finally:
        loop.abandon()


def _run_all(loop: Loop, tasks: list[Task], seconds: float | None) -> None:
    if tasks:
        loop.run(Task(wait(tasks, timeout=seconds)))


def turn_once(loop: Loop) -> None:
    """One turn for tasks that were started and never awaited, as after the end of a coroutine."""
    if loop._ready:
        ended = Future()
        ended._finish(None, None)
        loop.run(ended)


def report_unretrieved(loop: Loop) -> None:
    """Report every error that was never retrieved, oldest first."""
    if loop._unretrieved.data:  # type: ignore[attr-defined] # as above
        for each in sorted(loop._unretrieved, key=lambda one: one.number):
            each.report()
    if loop._lost:
        loop._report_lost()
