"""Streams on real workers: events as they happen, bounded, and over when the reader leaves."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator
from contextlib import aclosing

import anyio
import anyio.lowlevel
import pytest

from caps import (
    CapabilityRegistry,
    ConfigurationError,
    Decided,
    Finished,
    MemoryAuditLog,
    Output,
    PolicyInvalidError,
    Runtime,
    SessionBusyError,
    SessionEnd,
    Started,
    StreamEvent,
)
from caps.security.audit import ExecutionEnded, ExecutionStarted

pytestmark = pytest.mark.anyio

LIMITS = {"output_bytes": 200_000, "wall_ms": 20_000}


class Scene:
    """A runtime whose code can signal to the test, and wait for it."""

    def __init__(self) -> None:
        self.audit = MemoryAuditLog()
        self.reached = anyio.Event()
        self.go_on = anyio.Event()
        self.registry = CapabilityRegistry()
        self.registry.capability("signal.reach")(self.reach)
        self.registry.capability("signal.wait")(self.wait)
        self.runtime = Runtime(
            {"allow": ["signal.*"], "limits": LIMITS}, registry=self.registry, audit=self.audit
        )

    async def reach(self) -> None:
        self.reached.set()

    async def wait(self) -> None:
        self.reached.set()
        await self.go_on.wait()

    def statuses(self) -> list[str]:
        return [e.status.value for e in self.audit.events if isinstance(e, ExecutionEnded)]


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    opened = Scene()
    async with opened.runtime:
        yield opened


def finished(events: list[StreamEvent]) -> Finished:
    last = events[-1]
    assert isinstance(last, Finished)
    return last


def text_of(events: list[StreamEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, Output))


async def test_events_come_in_order_and_the_last_holds_the_result(scene: Scene) -> None:
    """What `run` returns at the end is reported as it happens, and then once more."""
    source = "print('before')\nawait caps.signal.reach()\nprint('after')\n7"
    events = [event async for event in scene.runtime.stream(source, principal="ada")]
    result = finished(events).result
    assert [type(event) for event in events] == [Started, Output, Decided, Output, Finished]
    assert events[0] == Started(result.execution_id)
    assert (events[1], events[3]) == (Output("before\n"), Output("after\n"))
    assert events[2] == Decided(result.decisions[0])
    assert (result.value, result.stdout) == (7, "before\nafter\n")
    (started,) = [e for e in scene.audit.events if isinstance(e, ExecutionStarted)]
    assert (started.principal, started.execution_id) == ("ada", result.execution_id)


async def test_a_program_can_choose_the_id_of_an_execution(scene: Scene) -> None:
    """So it can keep a record of its own before the start; what is no id is refused."""
    chosen = "0123456789abcdef" * 2
    events = [event async for event in scene.runtime.stream("1", execution_id=chosen)]
    assert finished(events).result.execution_id == chosen
    assert {e.execution_id for e in scene.audit.events if isinstance(e, ExecutionStarted)} == {
        chosen
    }
    for bad in ("", "x" * 32, chosen.upper(), chosen[1:], 7):
        with pytest.raises(ConfigurationError, match="execution_id"):
            await anext(scene.runtime.stream("1", execution_id=bad))  # type: ignore[arg-type]


@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_output_comes_while_the_code_runs(scene: Scene) -> None:
    """It is there although the code waits for what only its reader will do."""
    events: list[StreamEvent] = []
    source = "print('ask me')\nawait caps.signal.wait()\n1"
    async with aclosing(scene.runtime.stream(source)) as stream:
        async for event in stream:
            events.append(event)
            if isinstance(event, Output):
                scene.go_on.set()
    assert (text_of(events), finished(events).result.value) == ("ask me\n", 1)


async def test_a_slow_reader_makes_the_host_keep_one_bounded_piece(scene: Scene) -> None:
    """The code is not held up, and ten thousand prints in waiting are a single event."""
    source = "for n in range(10_000): print(n)\nawait caps.signal.reach()\nprint('end')"
    stream = scene.runtime.stream(source)
    events: list[StreamEvent] = [await anext(stream)]
    await scene.reached.wait()
    events += [event async for event in stream]
    assert [type(event) for event in events] == [Started, Output, Decided, Output, Finished]
    assert text_of(events) == finished(events).result.stdout
    assert finished(events).result.ok


async def test_a_flood_ends_at_the_policys_bound(scene: Scene) -> None:
    """No reader at all: what the host keeps is never more than `output_bytes`."""
    source = "await caps.signal.reach()\nwhile True: print('x' * 1000)"
    stream = scene.runtime.stream(source)
    events: list[StreamEvent] = [await anext(stream)]
    while not scene.statuses():
        await anyio.lowlevel.checkpoint()
    events += [event async for event in stream]
    result = finished(events).result
    assert result.error is not None
    assert result.error.details["limit"] == "output_bytes"
    assert 0 < len(text_of(events)) <= LIMITS["output_bytes"]
    assert len(events) <= 5


@pytest.mark.parametrize("source", ["1 / 0", "def ("])
async def test_code_that_fails_is_a_result_like_any_other(scene: Scene, source: str) -> None:
    """Nothing that the code did is raised."""
    events = [event async for event in scene.runtime.stream(source)]
    assert finished(events).result.error is not None


@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_closing_a_stream_kills_the_worker_and_records_it(scene: Scene) -> None:
    """When `aclose` is through, so is the execution."""
    async with aclosing(scene.runtime.stream("print(1)\nawait caps.signal.wait()")) as stream:
        async for event in stream:
            if isinstance(event, Decided):
                break
    assert scene.statuses() == ["cancelled"]


async def test_breaking_out_of_the_loop_is_enough(scene: Scene) -> None:
    """The stream is dropped with the loop, and the execution with the stream."""
    async for event in scene.runtime.stream("print(1)\nawait caps.signal.wait()"):
        if isinstance(event, Output):
            break
    gc.collect()
    with anyio.fail_after(20):
        while not scene.statuses():
            await anyio.lowlevel.checkpoint()
    assert scene.statuses() == ["cancelled"]


async def test_cancelling_the_reader_ends_the_execution(scene: Scene) -> None:
    """As cancelling `run` does."""

    async def read() -> None:
        async for _ in scene.runtime.stream("await caps.signal.wait()"):
            pass

    async with anyio.create_task_group() as group:
        group.start_soon(read)
        await scene.reached.wait()
        group.cancel_scope.cancel()
    assert scene.statuses() == ["cancelled"]


async def test_an_error_before_the_start_is_raised_to_the_reader(scene: Scene) -> None:
    """A bad policy, or a runtime that is not open; the runtime stays usable."""
    with pytest.raises(PolicyInvalidError):
        await anext(scene.runtime.stream("1", policy={"allow": ["nonsense"]}))
    with pytest.raises(ConfigurationError, match="not open"):
        await anext(Runtime({}).stream("1"))
    assert (await scene.runtime.run("2")).value == 2


async def test_closing_the_runtime_ends_its_streams() -> None:
    """The reader is notified, and the end is recorded."""
    scene = Scene()
    async with scene.runtime:
        stream = scene.runtime.stream("await caps.signal.wait()")
        events: list[StreamEvent] = [await anext(stream)]
        await scene.reached.wait()
    events += [event async for event in stream]
    result = finished(events).result
    assert (result.status.value, result.started) == ("worker_lost", True)
    assert scene.statuses() == ["worker_lost"]


class TestInASession:
    async def test_cells_stream_and_names_live_on(self, scene: Scene) -> None:
        """The same events, in the session's worker."""
        async with scene.runtime.session() as session:
            await session.run("x = 1")
            events = [event async for event in session.stream("print(x)\nx + 1")]
            assert [type(event) for event in events] == [Started, Output, Finished]
            assert finished(events).result.value == 2
            assert (await session.run("x")).value == 1

    async def test_leaving_early_ends_the_session(self, scene: Scene) -> None:
        """The worker was killed with the run."""
        async with scene.runtime.session() as session:
            async with aclosing(session.stream("await caps.signal.wait()")) as stream:
                await anext(stream)
                await scene.reached.wait()
                with pytest.raises(SessionBusyError):
                    await session.run("1")
            assert session.ended is SessionEnd.CANCELLED

    async def test_a_busy_session_refuses_a_stream(self, scene: Scene) -> None:
        """The error is the reader's."""
        async with scene.runtime.session() as session:
            first = session.stream("await caps.signal.wait()\n1")
            await anext(first)
            await scene.reached.wait()
            with pytest.raises(SessionBusyError):
                await anext(session.stream("2"))
            scene.go_on.set()
            assert finished([event async for event in first]).result.value == 1
