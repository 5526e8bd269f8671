"""The budget watchdog: an execution over its budget is stopped, whatever its code does."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from caps import (
    ApprovalAnswer,
    ApprovalRequest,
    CallResult,
    CapabilityRegistry,
    ConfigurationError,
    MemoryAuditLog,
    Runtime,
    builtin_registry,
)
from caps.capabilities.registration import CardTerms
from caps.security.audit import DecisionMade, ExecutionEnded, LimitReached

POLICY: dict[str, Any] = {"id": "math", "allow": ["math.*", "time.now", "sandbox.execute_code"]}
# It catches every error, and would go on for ever.
STUBBORN = """
done = 0
while True:
    try:
        await caps.math.add(a=1, b=1)
        done += 1
        print(done)
    except Exception as error:
        print(type(error).__name__)
        await caps.time.now()
"""


@pytest.fixture
def registry() -> CapabilityRegistry:
    made = builtin_registry(plugins="off")
    made.use_cards({"math.add": CardTerms(agent_type="math", cost_estimate=0.5)})
    return made


@pytest.mark.parametrize(
    ("policy", "budget", "calls"),
    [(POLICY, 1.0, 2), ({**POLICY, "limits": {"cost": 1.5}}, None, 3), (POLICY, 0, 0)],
)
def test_code_that_exceeds_its_budget_is_stopped(
    registry: CapabilityRegistry, policy: dict[str, Any], budget: float | None, calls: int
) -> None:
    """By the argument or by the policy, and before the call has an effect; all is recorded."""
    audit = MemoryAuditLog()
    with Runtime(policy, registry=registry, audit=audit) as runtime:
        result = runtime.run_sync(STUBBORN, budget=budget)
    assert (result.status.value, result.started) == ("limit", True)
    assert result.error is not None
    assert (result.error.code, result.error.details["limit"]) == ("limit_exceeded", "cost")
    decisions = [each for each in audit.events if isinstance(each, DecisionMade)]
    assert [each.reason for each in decisions[: calls + 1]] == ["allowed"] * calls + [
        "cost_exceeded"
    ]
    assert [each.reason for each in decisions].count("allowed") >= calls
    (limit,) = [each for each in audit.events if isinstance(each, LimitReached)]
    allowed = 1_500_000 if budget is None else int(budget * 1_000_000)
    assert (limit.limit, limit.allowed) == ("cost", allowed)
    assert isinstance(audit.events[-1], ExecutionEnded)


def test_an_execution_within_its_budget_ends_as_usual(registry: CapabilityRegistry) -> None:
    """Each execution has a budget of its own, also each run of a session."""
    code = "(await caps.math.add(a=1, b=1))['result']"
    with Runtime(POLICY, registry=registry, audit=MemoryAuditLog()) as runtime:
        assert [runtime.run_sync(code, budget=0.5).value for _ in range(2)] == [2, 2]
    limited = {**POLICY, "limits": {"cost": 0.5}}
    with (
        Runtime(limited, registry=registry, audit=MemoryAuditLog()) as runtime,
        runtime.session_sync() as session,
    ):
        assert [session.run(code).value for _ in range(2)] == [2, 2]


def test_nested_code_spends_the_budget_of_the_outer(registry: CapabilityRegistry) -> None:
    """What the inner execution has used the outer one has used, too."""
    inner = "await caps.math.add(a=1, b=1)"
    code = f"await caps.sandbox.execute_code({inner!r})\nawait caps.sandbox.execute_code({inner!r})"
    code += f"\n{inner}"
    with Runtime(POLICY, registry=registry, audit=MemoryAuditLog()) as runtime:
        assert runtime.run_sync(code, budget=1.5).ok
        over = runtime.run_sync(code, budget=1.0)
    assert (over.status.value, over.error and over.error.details["limit"]) == ("limit", "cost")


def test_a_call_over_the_budget_is_refused(registry: CapabilityRegistry) -> None:
    """One call is an execution of its own; so is a channel of calls."""
    payload = {"a": 1, "b": 1}
    with Runtime(POLICY, registry=registry, audit=MemoryAuditLog()) as runtime:
        assert runtime.call_sync("math.add", payload, budget=0.5).ok
        refused = runtime.call_sync("math.add", payload, budget=0.4)
        for wrong in (-1, float("nan"), True, "1"):
            with pytest.raises(ConfigurationError, match="budget"):
                runtime.call_sync("math.add", payload, budget=wrong)  # type: ignore[arg-type]
    assert refused.error is not None
    assert refused.decision is not None
    assert (refused.error.code, refused.decision.reason) == ("limit_exceeded", "cost_exceeded")


@pytest.mark.anyio
async def test_calls_that_wait_for_approvals_are_held_to_what_is_left_then(
    registry: CapabilityRegistry,
) -> None:
    """Both fit when they are asked about; when both are approved, only one still does."""
    asked, both = list[str](), anyio.Event()

    async def approve(request: ApprovalRequest) -> ApprovalAnswer:
        asked.append(request.id)
        if len(asked) == 2:
            both.set()
        await both.wait()
        return ApprovalAnswer(allowed=True, by="eve")

    audit = MemoryAuditLog()
    policy = {**POLICY, "approve": ["math.add"]}
    opened = Runtime(policy, registry=registry, audit=audit, approver=approve)
    results: list[CallResult] = []
    async with opened as runtime, runtime.calls(budget=0.5) as channel:

        async def add(number: int) -> None:
            results.append(await channel.call("math.add", {"a": number, "b": 1}))

        async with anyio.create_task_group() as group:
            group.start_soon(add, 1)
            group.start_soon(add, 2)
    assert sorted(each.ok for each in results) == [False, True]
    reasons = [each.reason for each in audit.events if isinstance(each, DecisionMade)]
    assert sorted(reasons) == ["allowed", "cost_exceeded"]
