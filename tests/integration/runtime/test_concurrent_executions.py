"""Many executions at once in one runtime, with different grants: none sees another's answer."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from caps import CapabilityRegistry, MemoryAuditLog, Runtime
from caps.capabilities.provider import CallContext
from caps.security.audit import DecisionMade, ExecutionEnded

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
    """Odd ones may shout, even ones may not; every answer belongs to who asked."""
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
            policy = bound if number % 2 else None
            source = PROGRAM.replace("{me}", str(number)).replace("{{", "{").replace("}}", "}")
            results[number] = await runtime.run(source, policy=policy, principal=f"p{number}")

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
