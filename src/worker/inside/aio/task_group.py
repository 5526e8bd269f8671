"""(4) `asyncio.TaskGroup`: tasks that end together.

The block ends when all its tasks have ended. The first task that fails cancels the others and the
block itself; the errors are raised as one group. The group's own cancellation stops at the block,
while a cancellation from outside continues.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from caps.worker.inside.aio.errors import CancelledError
from caps.worker.inside.aio.futures import Future, Task, current_task
from caps.worker.inside.aio.sealed import Sealed


class TaskGroup(metaclass=Sealed):
    """One group of tasks."""

    __slots__ = (
        "_aborting",
        "_cancelled_parent",
        "_emptied",
        "_errors",
        "_exiting",
        "_parent",
        "_tasks",
    )

    def __init__(self) -> None:
        self._parent: Task | None = None
        self._tasks: dict[Task, None] = {}  # in the order of their creation
        self._errors: list[BaseException] = []
        self._exiting = False
        self._aborting = False
        self._cancelled_parent = False
        self._emptied: Future | None = None

    def create_task(
        self, coro: Coroutine[Any, Any, Any], *, name: object = None, context: Any = None
    ) -> Task:
        """Start a coroutine in this group."""
        refusal = None
        if self._parent is None:
            refusal = "the group has not been entered"
        elif self._exiting and not self._tasks:
            refusal = "the group is finished"
        elif self._aborting:
            refusal = "the group is shutting down"
        if refusal is not None:
            coro.close()
            raise RuntimeError(refusal)
        task = Task(coro, name=name, context=context)
        self._tasks[task] = None
        task.add_done_callback(self._task_done)
        return task

    async def __aenter__(self) -> TaskGroup:
        if self._parent is not None:
            raise RuntimeError("a group can be entered once")
        self._parent = current_task()
        if self._parent is None:
            raise RuntimeError("a group needs a task to belong to")
        return self

    async def __aexit__(self, kind: type | None, error: BaseException | None, _tb: Any) -> None:
        self._exiting = True
        cancelled = error if isinstance(error, CancelledError) else None
        if error is not None and not self._aborting:
            self._abort()
        late = await self._drain()
        self._end(error, cancelled if late is None else late)

    async def _drain(self) -> CancelledError | None:
        """Wait for all tasks. Returns the cancellation that came from outside meanwhile."""
        cancelled: CancelledError | None = None
        while self._tasks:
            self._emptied = Future()
            try:
                await self._emptied
            except CancelledError as error:
                if not self._aborting:
                    cancelled = error
                    self._abort()
            self._emptied = None
        return cancelled

    def _end(self, error: BaseException | None, cancelled: BaseException | None) -> None:
        parent, errors = self._parent, self._errors
        assert parent is not None
        for each in ([] if error is None else [error]) + errors:
            if isinstance(each, (SystemExit, KeyboardInterrupt)):
                raise each
        if self._cancelled_parent and parent.uncancel() == 0:
            cancelled = None  # only the group itself requested it
        if cancelled is not None and not errors:
            raise cancelled
        if error is not None and not isinstance(error, CancelledError):
            errors.append(error)
        if errors:
            if parent.cancelling():
                # It was also cancelled from outside: the next await must raise that.
                parent.uncancel()
                parent.cancel()
            self._errors = []  # errors keep their frames alive, which may refer to this group
            raise BaseExceptionGroup("unhandled errors in a TaskGroup", errors) from None

    def _abort(self) -> None:
        self._aborting = True
        for task in self._tasks:
            task.cancel()

    def _task_done(self, task: Task) -> None:
        self._tasks.pop(task, None)
        if self._emptied is not None and not self._tasks:
            self._emptied._finish(None, None)
        error = None if task.cancelled() else task.exception()
        if error is None:
            return
        self._errors.append(error)
        assert self._parent is not None
        if not self._aborting and not self._cancelled_parent and not self._parent.done():
            self._abort()
            self._cancelled_parent = True
            self._parent.cancel()

    def __repr__(self) -> str:
        return f"<TaskGroup tasks={len(self._tasks)} errors={len(self._errors)}>"
