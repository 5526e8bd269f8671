"""Runs executions in the background, and writes their events and their end to the store.

Readers of events read the store, each at its own pace, and are woken when there is more. So a slow
reader delays nobody, and an execution outlives the request that asked for it.
"""

from __future__ import annotations

import hashlib
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import asdict
from typing import Any, Final
from uuid import UUID

import anyio
import msgspec
from anyio.abc import TaskGroup

from caps.capabilities.grant import BoundPolicy
from caps.capabilities.runtime.formats.json_value import Spelling, safe_repr, to_json
from caps.capabilities.runtime.result import ExecutionResult
from caps.capabilities.runtime.runtime import Runtime
from caps.capabilities.runtime.stream import (
    Decided,
    Finished,
    HandedOut,
    Output,
    Started,
    StreamEvent,
)
from caps.protocol.errors import CallerFault, CapsError
from caps.service.problems import Problem
from caps.store.columns import now
from caps.store.database import Store
from caps.store.errors import StoreError
from caps.store.repositories.executions import Executions, NewEvent, RunState, StoredExecution
from caps.worker.host.pool.admission import NoFreeWorkerError

FINISHED: Final = "finished"
_HIDDEN: Final = "the service failed; the log of the host says why"
_STOPPED: Final = "the service was stopped while it ran"

logger = logging.getLogger(__name__)


# Returns the columns that say how the execution ended.
Work = Callable[[Runtime, "RunningExecution"], Awaitable[dict[str, Any]]]


class ExecutionOrder(msgspec.Struct, frozen=True, kw_only=True):
    """What to run, and for whom: the principal of the token, the stored agent."""

    id: str
    principal: str
    code: str
    agent_id: UUID | None = None
    session: str | None = None
    inputs: Mapping[str, Any] | None = None
    argv: tuple[str, ...] | None = None
    filename: str = "<agent>"
    check: bool = False
    policies: tuple[BoundPolicy, ...] = ()
    budget: float | None = None
    work: Work | None = None
    """What to do instead of running `code`, which describes it then."""

    def row(self, instance: str) -> StoredExecution:
        return StoredExecution(
            id=self.id,
            principal=self.principal,
            agent_id=self.agent_id,
            session=self.session,
            instance=instance,
            status=RunState.QUEUED.value,
            source_sha256=hashlib.sha256(self.code.encode("utf-8", "replace")).hexdigest(),
            started=False,
            created_at=now(),
        )


class RunningExecution:
    """One execution under way here."""

    def __init__(self, order: ExecutionOrder) -> None:
        self.order = order
        self.scope = anyio.CancelScope()
        self.ended = anyio.Event()
        self.changed = anyio.Event()
        """Set, and replaced by a new one, when there are new events in the store."""
        self.pending: list[NewEvent] = []
        self.wake = anyio.Event()
        self.started = False
        self.is_closed = False

    def add(self, event: NewEvent) -> None:
        self.pending.append(event)
        self.wake.set()

    def close(self) -> None:
        self.is_closed = True
        self.wake.set()

    def tell_readers(self) -> None:
        told, self.changed = self.changed, anyio.Event()
        told.set()


class ExecutionRunner:
    """The executions of this process."""

    def __init__(
        self, runtime: Runtime, store: Store, tasks: TaskGroup, instance: str, per_principal: int
    ) -> None:
        self.instance = instance
        self._runtime = runtime
        self._store = store
        self._tasks = tasks
        self._per_principal = per_principal
        self._running: dict[str, RunningExecution] = {}
        self._reserved: Counter[str] = Counter()
        self._stopping = False

    @contextmanager
    def place(self, principal: str) -> Iterator[None]:
        """A place for one more execution, from before it is stored until it is started.

        Raises Problem (429) if this principal has too many in flight.
        """
        running = sum(each.order.principal == principal for each in self._running.values())
        count = running + self._reserved[principal]
        if count >= self._per_principal:
            raise Problem(
                429, "too_many_executions", f"{count} executions are in flight; wait for some"
            )
        self._reserved[principal] += 1
        try:
            yield
        finally:
            self._reserved[principal] -= 1
            if not self._reserved[principal]:
                del self._reserved[principal]

    def start(self, order: ExecutionOrder) -> RunningExecution:
        """Run what the store has a row of already."""
        running = RunningExecution(order)
        self._running[order.id] = running
        self._tasks.start_soon(self._run, running)
        return running

    def find(self, execution_id: str) -> RunningExecution | None:
        return self._running.get(execution_id)

    async def drain(self, seconds: float) -> None:
        """Wait for all executions, then cancel those that are left."""
        with anyio.CancelScope(shield=True):
            with anyio.move_on_after(seconds):
                await self._all_ended()
            self.stop()
            await self._all_ended()

    def stop(self) -> None:
        """Cancel all executions: the service stops."""
        self._stopping = True
        for each in tuple(self._running.values()):
            each.scope.cancel()

    async def _all_ended(self) -> None:
        for each in tuple(self._running.values()):
            await each.ended.wait()

    async def _run(self, running: RunningExecution) -> None:
        changes: dict[str, Any] = {}
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._write_events, running)
                changes = await self._result_of(running)
                running.close()
            with anyio.CancelScope(shield=True):
                await self._end(running, changes)
        finally:
            del self._running[running.order.id]
            running.tell_readers()
            running.ended.set()

    async def _result_of(self, running: RunningExecution) -> dict[str, Any]:
        """The columns that say how it ended. Raises nothing."""
        changes: dict[str, Any] = {}
        with running.scope:
            try:
                changes = await self._follow(running)
            except CapsError as error:
                changes = _failed(error)
            except Exception:
                logger.exception("execution `%s` failed", running.order.id)
                changes = _error(RunState.FAILED, "internal_error", _HIDDEN)
        if not changes:
            message = _STOPPED if self._stopping else "it was cancelled"
            changes = _error(RunState.CANCELLED, "cancelled", message)
        return {**changes, "started": running.started, "ended_at": now()}

    async def _follow(self, running: RunningExecution) -> dict[str, Any]:
        order = running.order
        if order.work is not None:
            return await order.work(self._runtime, running)
        events = self._runtime.stream(
            order.code,
            principal=order.principal,
            agent=None if order.agent_id is None else str(order.agent_id),
            session=order.session,
            policy=list(order.policies) or None,
            filename=order.filename,
            inputs=order.inputs,
            argv=order.argv,
            check=order.check,
            budget=order.budget,
            execution_id=order.id,
        )
        async with aclosing(events) as stream:
            async for event in stream:
                if isinstance(event, Finished):
                    running.started = event.result.started
                    return {"status": RunState.FINISHED.value, "result": _result(event.result)}
                running.started = running.started or isinstance(event, Started)
                running.add(_stored(event))
        raise AssertionError("a stream ends with its result")

    async def _write_events(self, running: RunningExecution) -> None:
        """Write what is pending, as often as the store takes it, until the execution is over."""
        while not running.is_closed:
            await running.wake.wait()
            running.wake = anyio.Event()
            batch, running.pending = running.pending, []
            try:
                await self._write(running, batch, RunState.RUNNING, {})
            except StoreError:
                logger.exception("events of execution `%s` wait to be written", running.order.id)
                running.pending = [*batch, *running.pending]

    async def _end(self, running: RunningExecution, changes: dict[str, Any]) -> None:
        last = [*running.pending, NewEvent(FINISHED, "{}")]
        try:
            await self._write(running, last, None, changes)
        except StoreError:
            # The row stays unfinished, and the next start of the service marks it as lost.
            logger.exception("the end of execution `%s` could not be written", running.order.id)

    async def _write(
        self,
        running: RunningExecution,
        events: Sequence[NewEvent],
        status: RunState | None,
        changes: dict[str, Any],
    ) -> None:
        columns = {"started": running.started, **changes}
        if status is not None:
            columns["status"] = status.value
        execution_id = running.order.id

        def work(connection: Any) -> None:
            repository = Executions(connection)
            repository.append(execution_id, events)
            repository.update(execution_id, **columns)

        if events or changes:
            await self._store.write(work)
            running.tell_readers()


def _stored(event: StreamEvent) -> NewEvent:
    match event:
        case Started():
            return new_event("started", {})
        case Output(text=text):
            return new_event("output", {"text": text})
        case Decided(decision=decision):
            return new_event("decision", asdict(decision))
        case HandedOut(artifact=artifact):
            return new_event("artifact", msgspec.structs.asdict(artifact.record))
    raise AssertionError(f"no such event: {type(event).__name__}")


def _result(result: ExecutionResult) -> str:
    """The text of its JSON; a value that was converted is there as Python shows it, too."""
    document = result.as_json()
    if document["value_spelling"] == Spelling.CONVERTED.value:
        document["value_shown"] = safe_repr(result.value)
    return msgspec.json.encode(document).decode()


def new_event(kind: str, data: Any) -> NewEvent:
    """An event with `data` as JSON."""
    return NewEvent(kind, msgspec.json.encode(to_json(data)[0]).decode())


def _failed(error: CapsError) -> dict[str, Any]:
    """It never got a result. What the host is to blame for is in its log."""
    if isinstance(error, CallerFault | NoFreeWorkerError):
        return _error(RunState.FAILED, error.code, error.message)
    logger.error("an execution failed", exc_info=error)
    return _error(RunState.FAILED, error.code, _HIDDEN)


def _error(status: RunState, code: str, message: str) -> dict[str, Any]:
    error = msgspec.json.encode({"code": code, "message": message}).decode()
    return {"status": status.value, "error": error}
