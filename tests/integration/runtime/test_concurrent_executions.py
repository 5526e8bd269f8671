"""Many concurrent executions in one runtime, with different grants: none sees another's answer."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
import pytest
from prometheus_client import CollectorRegistry

from caps import CapabilityRegistry, MemoryAuditLog, Runtime, builtin_registry
from caps.capabilities.provider import CallContext
from caps.security.audit import DecisionMade, ExecutionEnded
from caps.worker.host.pool.admission import NoFreeWorkerError

pytestmark = pytest.mark.anyio

EXECUTIONS = 200

PROGRAM = """
import asyncio
answers = await asyncio.gather(*(caps.echo.say(text=f"{me}-{{n}}") for n in range(5)))
refused = 0
try:
    await caps.echo.shout(text="{me}")
except PolicyDeniedError:
    refused = 1
[[a.text for a in answers], answers[0].execution_id, refused]
"""


def echo_registry() -> CapabilityRegistry:
    registry = CapabilityRegistry()

    @registry.capability("echo.say")
    async def say(context: CallContext, text: str) -> dict[str, str]:
        await anyio.lowlevel.checkpoint()
        return {"text": text, "execution_id": context.execution_id}

    @registry.capability("echo.shout")
    def shout(text: str) -> dict[str, str]:
        return {"text": text.upper()}

    return registry


async def test_200_executions_side_by_side_never_mix_their_answers() -> None:
    """Odd ones may shout, even ones may not; every answer belongs to its caller."""
    registry = echo_registry()
    audit = MemoryAuditLog()
    results: dict[int, Any] = {}
    quiet: dict[str, Any] = {"id": "quiet", "allow": ["echo.say"], "limits": {"wall_ms": 60000}}
    loud = {**quiet, "id": "loud", "allow": ["echo.*"]}
    async with (
        Runtime(quiet, registry=registry, audit=audit) as runtime,
        anyio.create_task_group() as tasks,
    ):
        bound = await runtime.bind(loud)

        async def one(number: int) -> None:
            policy = bound if number % 2 else runtime.policy
            source = PROGRAM.replace("{me}", str(number)).replace("{{", "{").replace("}}", "}")
            results[number] = await runtime.run(
                source, policy=policy, replace=True, principal=f"p{number}"
            )

        for number in range(EXECUTIONS):
            tasks.start_soon(one, number)

    for number, result in results.items():
        assert result.ok, result.error
        texts, execution_id, refused = result.value
        assert texts == [f"{number}-{n}" for n in range(5)]
        assert execution_id == result.execution_id
        assert refused == (0 if number % 2 else 1)
    assert len({result.execution_id for result in results.values()}) == EXECUTIONS
    by_execution = {result.execution_id: f"p{number}" for number, result in results.items()}
    decisions = [event for event in audit.events if isinstance(event, DecisionMade)]
    assert all(made.principal == by_execution[made.execution_id] for made in decisions)
    ended = [event for event in audit.events if isinstance(event, ExecutionEnded)]
    assert len(ended) == EXECUTIONS


async def test_slow_calls_of_one_caller_hold_up_nobody_else() -> None:
    """Plain providers, time zones and large results all need threads; each caller has its own."""
    registry, released = builtin_registry(), threading.Event()
    entered = threading.Semaphore(0)

    @registry.capability("host.block")
    def block() -> None:
        entered.release()
        released.wait()

    @registry.capability("host.plain")
    def plain() -> int:
        return 1

    limits = {"wall_ms": 60_000}
    policy = {"allow": ["host.*", "time.now"], "limits": limits}
    slow = "import asyncio\nawait asyncio.gather(*(caps.host.block() for n in range(64)))"
    honest = "await caps.time.now('Asia/Kathmandu')\n['x'] * (await caps.host.plain()) * 100_000"
    async with (
        Runtime(policy, registry=registry, audit=MemoryAuditLog()) as runtime,
        anyio.create_task_group() as tasks,
    ):
        try:
            for _ in range(8):
                tasks.start_soon(partial(runtime.run, slow, principal="eve"))
            for _ in range(41):  # one more than the threads that anyio has for all
                assert await anyio.to_thread.run_sync(entered.acquire, True, 30)
            for principal in ("eve", "ada"):
                with anyio.fail_after(30):
                    result = await runtime.run(honest, principal=principal)
                assert (result.error, len(result.value)) == (None, 100_000)
        finally:
            released.set()


async def test_a_principal_with_many_executions_makes_no_other_one_wait() -> None:
    """It has its share of the workers; what it queues beyond that waits for a bounded time."""
    registry, released, entered = CapabilityRegistry(), anyio.Event(), anyio.Semaphore(0)

    @registry.capability("host.block")
    async def block() -> None:
        entered.release()
        await released.wait()

    metrics, results, others_refused = CollectorRegistry(), list[Any](), anyio.Event()
    async with (
        Runtime(
            {"allow": ["host.block"]},
            registry=registry,
            audit=MemoryAuditLog(),
            max_workers=2,
            max_wait_ms=500,
            metrics=metrics,
        ) as runtime,
        anyio.create_task_group() as tasks,
    ):

        async def run_slowly() -> None:
            results.append(await runtime.run("await caps.host.block()", principal="eve"))
            if len(results) == 19:
                others_refused.set()

        for _ in range(20):
            tasks.start_soon(run_slowly)
        await entered.acquire()
        async with runtime.session(principal="ada") as session:
            assert (await session.run("1 + 1")).value == 2
            with pytest.raises(NoFreeWorkerError, match="its principal uses 1"):
                await runtime.session(principal="eve").__aenter__()
            with pytest.raises(NoFreeWorkerError, match="all 2 are in use"):
                await runtime.session(principal="bob").__aenter__()
        await others_refused.wait()
        released.set()
    statuses = [result.status.value for result in results]
    assert statuses == ["worker_lost"] * 19 + ["ok"]
    assert {(result.error.type, result.started) for result in results[:19]} == {
        ("NoFreeWorkerError", False)
    }
    refused = "caps_worker_waits_refused_total"
    assert metrics.get_sample_value(refused, {"waiting_for": "principal"}) == 20
    assert metrics.get_sample_value(refused, {"waiting_for": "worker"}) == 1
    assert metrics.get_sample_value("caps_workers_awaited", {"waiting_for": "principal"}) is None
