"""Bounds on real workers: whatever the code does, the host ends it and says why."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import anyio
import pytest

from caps import CapabilityRegistry, MemoryAuditLog, Runtime
from caps.capabilities.result import ExecutionResult
from caps.security.audit import ExecutionEnded, LimitReached, OutcomeRecorded

pytestmark = pytest.mark.anyio


async def run(source: str, audit: MemoryAuditLog | None = None, **limits: Any) -> ExecutionResult:
    policy = {"id": "bounded", "limits": limits}
    async with Runtime(policy, audit=audit or MemoryAuditLog()) as runtime:
        return await runtime.run(source)


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("while True: pass", id="a loop"),
        pytest.param("9**9**9", id="arithmetic in C"),
        pytest.param("import re\nre.match('(a*)*b', 'a' * 64)", id="a regex in C"),
        pytest.param("import asyncio\nawait asyncio.sleep(600)", id="a sleep"),
        pytest.param("try:\n    while True: pass\nexcept BaseException:\n    pass", id="stubborn"),
    ],
)
async def test_the_wall_limit_ends_whatever_runs(source: str) -> None:
    """The kill comes from outside, also within a C call, and is recorded."""
    audit = MemoryAuditLog()
    result = await run(source, audit, wall_ms=500)
    assert result.status.value == "limit"
    assert result.error is not None
    assert result.error.details["limit"] == "wall_ms"
    assert result.started
    assert [e.limit for e in audit.events if isinstance(e, LimitReached)] == ["wall_ms"]


async def test_the_cpu_limit_is_the_kernels() -> None:
    """A busy loop is ended by the kernel after its seconds."""
    result = await run("while True: pass", cpu_ms=1000, wall_ms=30000)
    assert result.error is not None
    assert (result.status.value, result.error.details["limit"]) == ("limit", "cpu_ms")


@pytest.mark.parametrize("source", ["[0] * 10**9", "x = 'a'\nwhile True: x += x"])
async def test_the_memory_limit_is_an_error_of_the_code(source: str) -> None:
    """Too much memory raises MemoryError, which the result calls a limit."""
    result = await run(source, memory_mb=128)
    assert result.error is not None
    assert (result.status.value, result.error.details["limit"]) == ("limit", "memory_mb")


async def test_printing_too_much_is_a_limit() -> None:
    """Output is cut at its bound, and what came before it is kept."""
    result = await run("while True: print('x' * 1000)", output_bytes=10_000)
    assert result.error is not None
    assert (result.status.value, result.error.details["limit"]) == ("limit", "output_bytes")
    assert 0 < len(result.stdout) <= 10_000


async def test_calls_beyond_the_limit_are_refused() -> None:
    """The call after the last is a LimitExceededError that the code can catch."""
    registry = CapabilityRegistry()

    @registry.capability("count.up")
    async def up() -> int:
        return 1

    source = """
done = 0
try:
    for _ in range(10):
        done += await caps.count.up()
except LimitExceededError as error:
    found = [done, error.limit, error.allowed]
found
"""
    policy = {"allow": ["count.up"], "limits": {"calls": 3}}
    async with Runtime(policy, registry=registry, audit=MemoryAuditLog()) as runtime:
        assert (await runtime.run(source)).value == [3, "calls", 3]


async def test_more_calls_than_may_run_at_once_wait_their_turn() -> None:
    """`gather` of many is no error: the wrapper queues, and the host never sees too many."""
    registry = CapabilityRegistry()
    running = most = 0

    @registry.capability("slow.step")
    async def step() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await anyio.lowlevel.checkpoint()
        running -= 1

    source = "import asyncio\nawait asyncio.gather(*(caps.slow.step() for _ in range(40)))\n'done'"
    policy = {"allow": ["slow.step"], "limits": {"concurrency": 4}}
    async with Runtime(policy, registry=registry, audit=MemoryAuditLog()) as runtime:
        assert (await runtime.run(source)).value == "done"
    assert most <= 4


async def test_pending_calls_end_with_their_execution() -> None:
    """Code that ends without awaiting a call does not leave it running, and that is recorded."""
    registry = CapabilityRegistry()
    ended: list[str] = []

    @registry.capability("slow.wait")
    async def wait() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("cancelled")

    @registry.capability("slow.ready")
    async def ready() -> None:
        return None

    source = """
import asyncio
asyncio.create_task(caps.slow.wait())
await caps.slow.ready()
"over"
"""
    audit = MemoryAuditLog()
    policy = {"allow": ["slow.*"]}
    async with Runtime(policy, registry=registry, audit=audit) as runtime:
        assert (await runtime.run(source)).value == "over"
    assert ended == ["cancelled"]
    outcomes = {
        e.capability: e.status.value for e in audit.events if isinstance(e, OutcomeRecorded)
    }
    assert outcomes == {"slow.wait": "cancelled", "slow.ready": "ok"}


async def test_cancelling_a_run_kills_the_worker_and_is_recorded() -> None:
    """No process is left behind, and the audit says that it was cancelled."""
    registry = CapabilityRegistry()
    audit = MemoryAuditLog()
    scope = anyio.CancelScope()

    @registry.capability("host.cancel")
    async def cancel() -> None:
        scope.cancel()

    policy = {"allow": ["host.cancel"]}
    async with Runtime(policy, registry=registry, audit=audit) as runtime:
        with scope:
            await runtime.run("await caps.host.cancel()\nwhile True: pass")
    assert scope.cancelled_caught
    assert audit.events[-1].status.value == "cancelled"  # type: ignore[union-attr]
    assert _children() == []


async def test_an_output_handler_that_fails_is_the_callers_error() -> None:
    """It is raised to the caller, the worker is gone, and the audit says the host failed."""
    audit = MemoryAuditLog()

    def broken(_text: str) -> None:
        raise RuntimeError("broken handler")

    async with Runtime({}, audit=audit) as runtime:
        with pytest.raises((RuntimeError, ExceptionGroup)):
            await runtime.run("print(1)", on_output=broken)
    (ended,) = [event for event in audit.events if isinstance(event, ExecutionEnded)]
    assert ended.status.value == "host_failed"
    assert _children() == []


def _children() -> list[str]:
    """Processes of ours that are still there, zombies included."""
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
