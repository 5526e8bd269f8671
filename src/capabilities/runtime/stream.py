"""An execution as it happens: a stream of frozen events, the last of which holds the result.

async for event in runtime.stream(source):
    match event:
        case Output(text=text): ...
        case Finished(result=result): ...

The execution runs concurrently with its reader and never waits for it. The events that the reader
has not taken yet are bounded anyway: pending output is joined to one event, at most
`limits.output_bytes` in all, there are no more decisions than an execution may make requests, and
artifacts are those of the result.
Leaving the loop early ends the execution: its worker is killed, and the audit log records it.
"""

from __future__ import annotations

import io
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass

import anyio
from anyio.abc import TaskGroup

from caps.capabilities.artifacts import Artifact
from caps.capabilities.broker.evidence import DecisionSummary
from caps.capabilities.runtime.result import ExecutionResult
from caps.protocol.errors import WorkerLostError


@dataclass(frozen=True, slots=True)
class Started:
    """The start is recorded, and the code is about to be sent to the worker."""

    execution_id: str


@dataclass(frozen=True, slots=True)
class Output:
    """Text that the code printed since the event before."""

    text: str


@dataclass(frozen=True, slots=True)
class Decided:
    """The broker decided about a call of the code."""

    decision: DecisionSummary


@dataclass(frozen=True, slots=True)
class HandedOut:
    """The code handed out a file or a picture."""

    artifact: Artifact


@dataclass(frozen=True, slots=True)
class Finished:
    """The last event: what `run` would have returned."""

    result: ExecutionResult


StreamEvent = Started | Output | Decided | HandedOut | Finished


class EventQueue:
    """The events between an execution and its reader, in order."""

    def __init__(self) -> None:
        self._waiting: deque[StreamEvent | io.StringIO] = deque()
        self._failed: Exception | None = None
        self._changed = anyio.Event()

    def start(self, execution_id: str) -> None:
        self._add(Started(execution_id))

    def output(self, text: str) -> None:
        last = self._waiting[-1] if self._waiting else None
        if not isinstance(last, io.StringIO):
            last = io.StringIO()
            self._add(last)
        last.write(text)

    def decide(self, decision: DecisionSummary) -> None:
        self._add(Decided(decision))

    def hand_out(self, artifact: Artifact) -> None:
        self._add(HandedOut(artifact))

    def finish(self, result: ExecutionResult) -> None:
        self._add(Finished(result))

    def fail(self, error: Exception) -> None:
        """There will be no result: the reader gets `error` after the pending events."""
        self._failed = error
        self._changed.set()

    async def next(self) -> StreamEvent:
        """Wait for the next event; raises the error passed to `fail`."""
        while not self._waiting:
            if self._failed is not None:
                raise self._failed
            self._changed = anyio.Event()
            await self._changed.wait()
        event = self._waiting.popleft()
        return Output(event.getvalue()) if isinstance(event, io.StringIO) else event

    def _add(self, event: StreamEvent | io.StringIO) -> None:
        self._waiting.append(event)
        self._changed.set()


async def stream_execution(
    tasks: TaskGroup, execute: Callable[[EventQueue], Awaitable[ExecutionResult]]
) -> AsyncGenerator[StreamEvent, None]:
    """The events of `execute`, which runs in `tasks` and has ended when this generator ends."""
    feed, running, over = EventQueue(), anyio.CancelScope(), anyio.Event()

    async def run() -> None:
        try:
            with running:
                feed.finish(await execute(feed))
        except anyio.get_cancelled_exc_class():
            feed.fail(WorkerLostError("the runtime was closed while its code ran", started=True))
            raise
        except Exception as error:  # noqa: BLE001 - for the reader to handle, not the runtime
            feed.fail(error)
        finally:
            over.set()

    tasks.start_soon(run)
    try:
        while True:
            event = await feed.next()
            yield event
            if isinstance(event, Finished):
                return
    finally:
        running.cancel()
        with anyio.CancelScope(shield=True):
            await over.wait()
