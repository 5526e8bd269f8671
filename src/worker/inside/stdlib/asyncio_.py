"""(4) The `asyncio` that user space imports: selected names on top of our own loop."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Coroutine
from types import CoroutineType
from typing import Any

from caps.worker.inside.aio import errors
from caps.worker.inside.aio.conditions import Barrier, Condition
from caps.worker.inside.aio.futures import Future, Task, current_loop, current_task, enter
from caps.worker.inside.aio.gather import as_completed, gather
from caps.worker.inside.aio.locks import BoundedSemaphore, Event, Lock, Semaphore
from caps.worker.inside.aio.loop import Handle, Loop, ensure_future
from caps.worker.inside.aio.loop_facade import EventLoop
from caps.worker.inside.aio.queues import LifoQueue, PriorityQueue, Queue
from caps.worker.inside.aio.runner import Runner
from caps.worker.inside.aio.shutdown import shutdown
from caps.worker.inside.aio.task_group import TaskGroup
from caps.worker.inside.aio.timeouts import Timeout, timeout, timeout_at
from caps.worker.inside.aio.wait import (
    ALL_COMPLETED,
    FIRST_COMPLETED,
    FIRST_EXCEPTION,
    shield,
    sleep,
    wait,
    wait_for,
)

_CLASSES = (
    Barrier,
    BoundedSemaphore,
    Condition,
    Event,
    Future,
    Handle,
    LifoQueue,
    Lock,
    PriorityQueue,
    Queue,
    Runner,
    Semaphore,
    Task,
    TaskGroup,
    Timeout,
    errors.BrokenBarrierError,
    errors.CancelledError,
    errors.InvalidStateError,
    errors.QueueEmpty,
    errors.QueueFull,
    errors.QueueShutDown,
    TimeoutError,
)


def all_tasks(loop: object = None) -> set[Task]:
    """The tasks that are not done."""
    del loop
    return set(current_loop()._tasks)


def create_task(
    coro: Coroutine[Any, Any, Any], *, name: object = None, context: Any = None
) -> Task:
    """Start a coroutine as a task."""
    return Task(coro, name=name, context=context)


def iscoroutine(obj: object) -> bool:
    return type(obj) is CoroutineType


def iscoroutinefunction(func: object) -> bool:
    return inspect.iscoroutinefunction(func)


def isfuture(obj: object) -> bool:
    return isinstance(obj, Future)


async def to_thread(func: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Calls `func` immediately: there are no threads here, so other tasks wait for it."""
    return func(*args, **kwargs)


def get_event_loop() -> EventLoop:
    return _EVENT_LOOP


def get_running_loop() -> EventLoop:
    if not current_loop().is_running():
        raise RuntimeError("no running event loop")
    return _EVENT_LOOP


def new_event_loop() -> EventLoop:
    """The only event loop; no new one is created."""
    return _EVENT_LOOP


def set_event_loop(loop: object) -> None:
    """Does nothing: there is only one event loop."""


_EVENT_LOOP = EventLoop()
_FUNCTIONS = (
    all_tasks,
    as_completed,
    create_task,
    current_task,
    ensure_future,
    gather,
    get_event_loop,
    get_running_loop,
    iscoroutine,
    iscoroutinefunction,
    isfuture,
    new_event_loop,
    set_event_loop,
    shield,
    sleep,
    timeout,
    timeout_at,
    to_thread,
    wait,
    wait_for,
)


class AsyncioFacade:
    """`asyncio` for one loop."""

    __slots__ = ("_loop",)

    create_task = staticmethod(create_task)
    gather = staticmethod(gather)
    sleep = staticmethod(sleep)
    wait_for = staticmethod(wait_for)

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        enter(loop, None)

    def names(self) -> dict[str, object]:
        """The names of the module `asyncio`."""
        return {
            **{each.__name__: each for each in (*_CLASSES, *_FUNCTIONS)},
            "ALL_COMPLETED": ALL_COMPLETED,
            "AbstractEventLoop": EventLoop,
            "FIRST_COMPLETED": FIRST_COMPLETED,
            "FIRST_EXCEPTION": FIRST_EXCEPTION,
            "run": self.run,
        }

    def run(self, main: Awaitable[Any], *, debug: bool | None = None) -> Any:
        """Run `main` to its end, then cancel the tasks that it started and left running.

        In a program that awaits at the top level, or in a task, the loop is already running: there
        it works like `await`, and tasks that were started continue.
        """
        del debug
        loop = self._loop
        if loop.is_running():
            return loop.run(ensure_future(main))
        before = set(loop._tasks)
        try:
            return loop.run(ensure_future(main))
        finally:
            shutdown(loop, loop._tasks - before, seconds=None)
