"""What an execution makes of sources that no worker could be handed, and of odd names for them."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from caps.capabilities.runtime import Runtime
from caps.protocol.errors import ConfigurationError
from caps.security.audit import ExecutionEnded, ExecutionStarted, ExecutionStatus, MemoryAuditLog

pytestmark = pytest.mark.anyio


@pytest.fixture
def audit() -> MemoryAuditLog:
    return MemoryAuditLog()


@pytest.fixture
async def runtime(audit: MemoryAuditLog) -> AsyncIterator[Runtime]:
    """A runtime that grants nothing."""
    async with Runtime({}, audit=audit) as opened:
        yield opened


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("x = '\ud83d'", "the source is no text: half of a surrogate pair at character 5"),
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


async def test_a_runtime_is_entered_once(runtime: Runtime) -> None:
    """A second time would lose the first one's audit log."""
    with pytest.raises(ConfigurationError, match="the runtime is open already"):
        await runtime.__aenter__()


async def test_an_audit_that_was_handed_over_stays_open(audit: MemoryAuditLog) -> None:
    """Whoever made it closes it."""
    async with Runtime({}, audit=audit) as runtime:
        await runtime.run("1")
    before = len(audit.events)
    async with Runtime({}, audit=audit) as runtime:
        await runtime.run("2")
    assert len(audit.events) == 2 * before


def test_the_sync_way_gives_the_same_result(audit: MemoryAuditLog) -> None:
    """For programs without an event loop, as often as they like."""
    printed: list[str] = []
    with Runtime({}, audit=audit) as runtime:
        results = [runtime.run_sync(f"print({n}); {n}", on_output=printed.append) for n in (1, 2)]
    assert [result.unwrap() for result in results] == [1, 2]
    assert printed == ["1\n", "2\n"]
