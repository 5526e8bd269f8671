"""The approval desk by itself, with a clock of its own."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry

from caps import ApprovalAnswer, ApprovalRequest, CapabilityRegistry, MemoryAuditLog, Metrics
from caps.capabilities.broker.approvals import ApprovalDesk, AskedCall
from caps.security.decision import ApprovalUse

pytestmark = pytest.mark.anyio


def asked_call() -> AskedCall:
    registry = CapabilityRegistry()

    @registry.capability("box.drop", shown=("name",))
    async def drop(name: str) -> str:
        return name

    grant = registry.inject("caps", "e1", {"allow": ["box.*"], "approve": ["box.drop"]})
    return AskedCall(
        who={"execution_id": "e1", "principal": "ada", "agent": None, "session": None},
        channel_id="e1",
        request_id="r1",
        grant=grant,
        terms=grant.terms["box.drop"],
        redacted=MemoryAuditLog().redactor.split({"name": "a"}, ("name",)),
    )


async def test_a_span_that_is_over_covers_nothing() -> None:
    """Up to its last moment it covers every call, and then none."""
    now = [100.0]

    async def approve(_: ApprovalRequest) -> ApprovalAnswer:
        return ApprovalAnswer(allowed=True, by="ada", seconds=10)

    metrics = Metrics(CollectorRegistry())
    desk = ApprovalDesk(MemoryAuditLog(), metrics, approve, clock=lambda: now[0])
    call = asked_call()
    assert desk.take(call) is None
    settled = await desk.ask(call, 1000)
    assert settled.use is ApprovalUse.GIVEN
    now[0] = 109.9
    assert desk.take(call) == settled.approval_id
    now[0] = 110.0
    assert desk.take(call) is None
