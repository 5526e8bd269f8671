"""Bounds on real workers: whatever the code does, the host ends it and says why."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import anyio
import pytest

from caps import CapabilityRegistry, MemoryAuditLog, Runtime
from caps.capabilities.runtime.result import ExecutionResult
from caps.protocol.errors import AuditError
from caps.protocol.framing import DEFAULT_LIMITS
from caps.protocol.messages import REFUSED_REQUEST_MARGIN
from caps.security.audit import (
    AuditEvent,
    DecisionMade,
    ExecutionEnded,
    LimitReached,
    OutcomeRecorded,
)
from caps.worker.host.supervisor import supervisor

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


@pytest.mark.parametrize("source", ["while True: pass", "9**9**9"])
async def test_the_cpu_limit_is_held_from_outside_before_the_kernel_would(source: str) -> None:
    """The kernel counts whole seconds; the host ends a loop, or a C call, long before one."""
    audit = MemoryAuditLog()
    result = await run(source, audit, cpu_ms=200, wall_ms=60_000)
    assert result.error is not None
    assert (result.status.value, result.error.details["limit"]) == ("limit", "cpu_ms")
    assert result.usage.cpu_ms is not None
    assert 200 <= result.usage.cpu_ms < 1000
    assert [(e.limit, e.allowed) for e in audit.events if isinstance(e, LimitReached)] == [
        ("cpu_ms", 200)
    ]


async def test_the_kernels_own_cpu_limit_is_reported_in_the_same_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without the host's watch, the kernel ends the code, and all records are the same."""

    async def never(*_: object) -> bool:
        return False

    results, records = [], []
    for watched in (True, False):
        if not watched:
            monkeypatch.setattr(supervisor, "wait_until_used_up", never)
        audit = MemoryAuditLog()
        results.append(await run("while True: pass", audit, cpu_ms=100, wall_ms=60_000))
        records.append(
            [
                (type(e), e.message if isinstance(e, LimitReached) else e.error_message)
                for e in audit.events
                if isinstance(e, LimitReached | ExecutionEnded)
            ]
        )
    by_host, by_kernel = results
    assert by_host.error is not None
    assert by_kernel.error is not None
    assert by_host.error.details == by_kernel.error.details
    assert by_host.error.message == by_kernel.error.message
    # Only the host interrupts the code before it is killed.
    assert (by_host.error.line, by_kernel.error.line) == (1, None)
    assert records[0] == records[1]
    assert by_kernel.usage.cpu_ms is not None
    assert by_kernel.usage.cpu_ms > 500


async def test_waiting_uses_no_cpu_time() -> None:
    """Code may wait far longer than it may compute."""
    source = "import asyncio\nfor _ in range(20): await asyncio.sleep(0.025)\n'rested'"
    result = await run(source, cpu_ms=250)
    assert result.value == "rested", result
    assert result.usage.cpu_ms is not None
    assert result.usage.cpu_ms < 250


async def test_what_the_code_used_is_in_the_result_and_on_record() -> None:
    """CPU time from when the code was sent, and the peak memory of its process."""
    audit = MemoryAuditLog()
    source = "held = 'x' * 50_000_000\nfor _ in range(100_000): pass\nlen(held)"
    result = await run(source, audit)
    (ended,) = [event for event in audit.events if isinstance(event, ExecutionEnded)]
    assert result.usage.cpu_ms is not None
    assert result.usage.max_rss_kb is not None
    assert result.usage.cpu_ms > 0
    assert result.usage.max_rss_kb > 50_000
    assert (ended.cpu_us, ended.max_rss_kb) == (
        round(result.usage.cpu_ms * 1000),
        result.usage.max_rss_kb,
    )


async def test_code_that_never_got_a_worker_used_none() -> None:
    """Unknown is not zero."""
    result = await run("#" * 300_000)
    assert (result.started, result.usage.cpu_ms, result.usage.max_rss_kb) == (False, None, None)


@pytest.mark.parametrize("limits", [{"wall_ms": 500}, {"cpu_ms": 400}], ids=str)
async def test_what_was_printed_just_before_the_code_is_killed_is_kept(
    limits: dict[str, Any],
) -> None:
    """Many lines in one burst, then only a busy loop: none of them is lost."""
    lines = "".join(f"line {number}\n" for number in range(50))
    source = "for n in range(50): print('line', n)\nwhile True: pass"
    result = await run(source, **limits)
    assert (result.status.value, result.stdout) == ("limit", lines)


async def test_much_in_flight_slows_the_code_down_and_loses_nothing() -> None:
    """Far more than the host holds for one execution travels both ways, a part at a time."""
    registry, full = CapabilityRegistry(), anyio.Event()
    held = most = 0

    @registry.capability("echo.back")
    async def back(text: str) -> str:
        nonlocal held, most
        held += len(text)
        most = max(most, held)
        if held > DEFAULT_LIMITS.max_bytes_in_flight:
            full.set()
        await full.wait()
        await anyio.sleep(0.5)  # a host that kept reading would hold more and more now
        held -= len(text)
        return text

    source = """
import asyncio
texts = [str(n % 10) * (3 << 20) for n in range(30)]
texts == await asyncio.gather(*(caps.echo.back(text=text) for text in texts))
"""
    limits = {"memory_mb": 1024, "concurrency": 30, "wall_ms": 120_000, "cpu_ms": 60_000}
    policy = {"allow": ["echo.back"], "limits": limits}
    async with Runtime(policy, registry=registry, audit=MemoryAuditLog()) as runtime:
        result = await runtime.run(source)
    assert result.value is True, result
    assert most <= DEFAULT_LIMITS.max_bytes_in_flight + DEFAULT_LIMITS.max_frame_bytes


async def test_evidence_that_is_missing_shows_in_the_end_although_the_code_went_on() -> None:
    """It caught the error and gave a value; the execution has failed anyway."""

    class OutOfPaper(MemoryAuditLog):
        async def append(self, event: AuditEvent) -> None:
            if isinstance(event, DecisionMade):
                raise AuditError("out of paper")
            await super().append(event)

    registry, acted = CapabilityRegistry(), []

    @registry.capability("host.act")
    async def act() -> None:
        acted.append(1)

    source = """
try:
    await caps.host.act()
except AuditError:
    print("caught")
"a value"
"""
    audit = OutOfPaper()
    async with Runtime({"allow": ["host.act"]}, registry=registry, audit=audit) as runtime:
        result = await runtime.run(source)
    assert (result.status.value, result.value, result.stdout) == ("host_failed", None, "caught\n")
    assert result.error is not None
    assert (result.error.code, result.error.message, acted) == ("audit_error", "out of paper", [])
    (ended,) = [event for event in audit.events if isinstance(event, ExecutionEnded)]
    assert (ended.status.value, ended.error_code) == ("host_failed", "audit_error")
    assert ended.error_message == "out of paper"


@pytest.mark.parametrize("source", ["[0] * 10**9", "x = 'a'\nwhile True: x += x"])
async def test_the_memory_limit_is_an_error_of_the_code(source: str) -> None:
    """Too much memory raises MemoryError, which the result calls a limit."""
    result = await run(source, memory_mb=128)
    assert result.error is not None
    assert (result.status.value, result.error.details["limit"]) == ("limit", "memory_mb")


OUT_OF_MEMORY = {
    "small objects": "x = []\nwhile True: x.append(object())",
    "a set": "x, n = set(), 0\nwhile True:\n    n += 1\n    x.add(n)",
    "strings": "x, n = [], 0\nwhile True:\n    n += 1\n    x.append(str(n))",
    "a deep tuple": "x = None\nwhile True: x = (x,)",
    "tasks": (
        "import asyncio\nx = []\nasync def wait(): await asyncio.sleep(600)\n"
        "while True: x.append(asyncio.create_task(wait()))"
    ),
    "a group of tasks": (
        "import asyncio\nx = []\nasync def fill():\n    while True: x.append(object())\n"
        "async with asyncio.TaskGroup() as group:\n"
        "    group.create_task(fill())\n    group.create_task(fill())"
    ),
    "a handler that needs more": (
        "x = []\nwhile True:\n    try:\n        while True: x.append(object())\n"
        "    except MemoryError:\n        x.append([0] * 1000)"
    ),
    "a result that does not fit": (
        "x = None\ntry:\n    while True: x = (x,)\nexcept MemoryError:\n    pass\n"
        "['x' * 100] * 70_000"
    ),
}


async def test_memory_that_is_used_up_by_small_objects_is_the_same_limit() -> None:
    """Nothing is left for the error then: the worker keeps a reserve, or exits and says why."""
    policy = {"limits": {"memory_mb": 40}}
    ended = {}
    async with Runtime(policy, audit=MemoryAuditLog()) as runtime:
        for name, source in OUT_OF_MEMORY.items():
            result = await runtime.run(source)
            assert result.error is not None, name
            ended[name] = (result.status.value, result.error.code, result.error.details["limit"])
    assert ended == dict.fromkeys(OUT_OF_MEMORY, ("limit", "limit_exceeded", "memory_mb"))


async def test_code_may_catch_the_memory_error_and_end() -> None:
    """Its result is sent, although it left no memory for that; so is that of the next cell."""
    fill = "x = []\ntry:\n    while True: x.append(object())\nexcept MemoryError:\n    pass\n'full'"
    policy = {"limits": {"memory_mb": 64}}
    async with (
        Runtime(policy, audit=MemoryAuditLog()) as runtime,
        runtime.session() as session,
    ):
        values = [(await session.run(cell)).value for cell in (fill, "len(x) > 0", "del x", "1")]
    assert values == ["full", True, None, 1]


ONE_BY_ONE = """
seen = set()
for n in range(500):
    try:
        await {ask}()
    except Exception as error:
        seen.add(type(error).__name__)
"LimitExceededError" in seen
"""
TOGETHER = """
import asyncio
answers = await asyncio.gather(*({ask}() for n in range(500)), return_exceptions=True)
"LimitExceededError" in {{type(answer).__name__ for answer in answers}}
"""


@pytest.mark.parametrize("loop", [ONE_BY_ONE, TOGETHER], ids=["one by one", "together"])
@pytest.mark.parametrize("granted", [True, False], ids=["granted", "withheld"])
async def test_more_calls_than_allowed_are_refused_however_many_they_are(
    loop: str, granted: bool
) -> None:
    """An honest loop that ignores the error breaks no protocol. The refusals on record are bounded,
    and so are those of what is withheld, which have another reason at first."""
    registry = CapabilityRegistry()

    @registry.capability("host.ask")
    async def ask() -> None:
        """Does nothing."""

    policy = {"allow": ["host.ask"] * granted, "limits": {"calls": 3, "concurrency": 200}}
    source, audit = loop.format(ask="caps.host.ask"), MemoryAuditLog()
    async with Runtime(policy, registry=registry, audit=audit) as runtime:
        if granted:
            async with runtime.session() as session:
                results = [await session.run(source), await session.run(source)]
        else:
            results = [await runtime.learn(source)]
    assert [(result.error, result.value) for result in results] == [(None, True)] * len(results)
    decisions = [event for event in audit.events if isinstance(event, DecisionMade)]
    assert len(decisions) == (3 + REFUSED_REQUEST_MARGIN) * len(results)


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
    """`gather` of many is not an error: the wrapper queues, and the host never sees too many."""
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
    registry, begun = CapabilityRegistry(), anyio.Event()
    ended: list[str] = []

    @registry.capability("slow.wait")
    async def wait() -> None:
        begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("cancelled")

    @registry.capability("slow.ready")
    async def ready() -> None:
        # Otherwise the code may end before the other call begins, which is recorded differently.
        await begun.wait()

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

    policy, before = {"allow": ["host.cancel"]}, _children()
    async with Runtime(policy, registry=registry, audit=audit) as runtime:
        with scope:
            await runtime.run("await caps.host.cancel()\nwhile True: pass")
    assert scope.cancelled_caught
    assert audit.events[-1].status.value == "cancelled"  # type: ignore[union-attr]
    assert _children() == before


async def test_an_output_handler_that_fails_is_the_callers_error() -> None:
    """It is raised to the caller, the worker has exited, and the audit says the host failed."""
    audit, before = MemoryAuditLog(), _children()

    def broken(_text: str) -> None:
        raise RuntimeError("broken handler")

    async with Runtime({}, audit=audit) as runtime:
        with pytest.raises((RuntimeError, ExceptionGroup)):
            await runtime.run("print(1)", on_output=broken)
    (ended,) = [event for event in audit.events if isinstance(event, ExecutionEnded)]
    assert ended.status.value == "host_failed"
    assert _children() == before


def _children() -> list[str]:
    """Our own processes that still exist, including zombies."""
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
