"""What an execution makes of sources that no worker could be handed, and of odd names for them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import anyio
import anyio.lowlevel
import pytest
from prometheus_client import CollectorRegistry

from caps.capabilities.runtime.runtime import Runtime
from caps.protocol.errors import ConfigurationError
from caps.security.audit import (
    AuditEvent,
    ExecutionEnded,
    ExecutionStarted,
    ExecutionStatus,
    MemoryAuditLog,
)

pytestmark = pytest.mark.anyio


@pytest.fixture
def audit() -> MemoryAuditLog:
    return MemoryAuditLog()


@pytest.fixture
async def runtime(audit: MemoryAuditLog) -> AsyncIterator[Runtime]:
    """A runtime that grants nothing."""
    async with Runtime({}, audit=audit) as opened:
        yield opened


@pytest.mark.process
@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("x = '\ud83d'", "the source is not valid text: half of a surrogate pair at character 5"),
        ("#" * (256 * 1024 + 1), "the source takes 262145 bytes, over the limit of 262144"),
    ],
    ids=["surrogate", "too large"],
)
async def test_a_source_that_cannot_be_handed_over_is_the_fault_of_the_code(
    runtime: Runtime, audit: MemoryAuditLog, source: str, message: str
) -> None:
    """It fails like one that does not compile: as a result, with its records, without a raise."""
    result = await runtime.run(source)
    assert (result.status, result.started) == (ExecutionStatus.CODE_FAILED, False)
    assert result.error is not None
    assert (result.error.code, result.error.message) == ("execution_error", message)
    kinds = [type(event) for event in audit.events[1:]]
    assert kinds == [ExecutionStarted, ExecutionEnded]


@pytest.mark.process
@pytest.mark.parametrize(
    ("filename", "shown"),
    [("caf\udce9.py", "caf?.py"), ("", "<agent>"), ("n" * 300, "n" * 256)],
    ids=["no text", "empty", "too long"],
)
async def test_a_name_that_the_wire_cannot_carry_is_mended(
    runtime: Runtime, filename: str, shown: str
) -> None:
    """A name is for tracebacks only, so it never keeps code from running."""
    result = await runtime.run("1 / 0", filename=filename)
    assert result.status is ExecutionStatus.CODE_FAILED
    assert result.error is not None
    assert f'File "{shown}"' in result.error.traceback


async def test_a_runtime_that_is_not_open_says_so(audit: MemoryAuditLog) -> None:
    """Neither way of running works before it is entered, nor the other way's."""
    runtime = Runtime({}, audit=audit)
    with pytest.raises(ConfigurationError, match="the runtime is not open"):
        await runtime.run("1")
    with pytest.raises(ConfigurationError, match="the runtime is not open"):
        runtime.run_sync("1")


@pytest.mark.process
async def test_a_runtime_is_entered_once(runtime: Runtime) -> None:
    """A second time would lose the first one's audit log."""
    with pytest.raises(ConfigurationError, match="the runtime is open already"):
        await runtime.__aenter__()


@pytest.mark.process
async def test_an_audit_that_was_handed_over_stays_open(audit: MemoryAuditLog) -> None:
    """Its creator closes it."""
    async with Runtime({}, audit=audit) as runtime:
        await runtime.run("1")
    before = len(audit.events)
    async with Runtime({}, audit=audit) as runtime:
        await runtime.run("2")
    assert len(audit.events) == 2 * before


@pytest.mark.process
def test_the_sync_way_gives_the_same_result(audit: MemoryAuditLog) -> None:
    """For programs without an event loop, as often as they like."""
    printed: list[str] = []
    with Runtime({}, audit=audit) as runtime:
        results = [runtime.run_sync(f"print({n}); {n}", on_output=printed.append) for n in (1, 2)]
    assert [result.unwrap() for result in results] == [1, 2]
    assert printed == ["1\n", "2\n"]


@pytest.mark.process
async def test_an_execution_is_counted_out_though_its_end_is_cancelled_again() -> None:
    """By asyncio itself, whose cancellation no shield stops; its end is recorded anyway."""
    begun, ending = anyio.Event(), anyio.Event()

    class Slow(MemoryAuditLog):
        """The record of an end is appended, and then the write takes a while."""

        async def append(self, event: AuditEvent) -> None:
            await super().append(event)
            if isinstance(event, ExecutionEnded):
                ending.set()
                await anyio.sleep_forever()

    audit, samples = Slow(), CollectorRegistry()
    async with Runtime({}, audit=audit, metrics=samples) as runtime:
        running = asyncio.create_task(
            runtime.run("print(1, flush=True)\nwhile True: pass", on_output=lambda _: begun.set())
        )
        await begun.wait()
        running.cancel()
        await ending.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert samples.get_sample_value("caps_executions_in_flight") == 0
    ends = [event.status for event in audit.events if isinstance(event, ExecutionEnded)]
    assert ends == [ExecutionStatus.CANCELLED]


@pytest.mark.process
async def test_the_record_of_an_end_is_not_cut_short_by_who_gives_up() -> None:
    """The log has to wait for a turn, and the execution was cancelled by then."""

    class Late(MemoryAuditLog):
        """Appending the record of an end takes a turn of the loop."""

        async def append(self, event: AuditEvent) -> None:
            if isinstance(event, ExecutionEnded):
                await anyio.lowlevel.checkpoint()
            await super().append(event)

    audit = Late()
    async with Runtime({}, audit=audit) as runtime:
        with anyio.CancelScope() as scope:
            await runtime.run(
                "print(1, flush=True)\nwhile True: pass", on_output=lambda _: scope.cancel()
            )
    ends = [event.status for event in audit.events if isinstance(event, ExecutionEnded)]
    assert ends == [ExecutionStatus.CANCELLED]
