"""Runs of plans: executions like those of code, with an event for each step."""

from __future__ import annotations

import functools
from dataclasses import asdict
from typing import Any
from uuid import UUID

import msgspec
import rfc8785

from caps.agents.plans.run import PlanCaller, StepOutcome, run_plan
from caps.agents.plans.validate import CheckedPlan
from caps.capabilities.broker.evidence import DecisionSummary
from caps.capabilities.grant import BoundPolicy
from caps.capabilities.runtime.runtime import Runtime
from caps.service.executions.runner import ExecutionOrder, RunningExecution, new_event
from caps.store.repositories.executions import RunState


def plan_order(
    checked: CheckedPlan,
    *,
    execution_id: str,
    principal: str,
    agent_id: UUID | None,
    session: str | None,
    policies: tuple[BoundPolicy, ...],
) -> ExecutionOrder:
    """The order to run a plan; the digest of its canonical form is kept, not the plan."""
    return ExecutionOrder(
        id=execution_id,
        principal=principal,
        code=rfc8785.dumps(checked.plan.model_dump(mode="json")).decode(),
        agent_id=agent_id,
        session=session,
        policies=policies,
        work=functools.partial(_run, checked),
    )


async def _run(checked: CheckedPlan, runtime: Runtime, running: RunningExecution) -> dict[str, Any]:
    order = running.order

    def on_decision(decision: DecisionSummary) -> None:
        if not running.started:
            running.started = True
            running.add(new_event("started", {}))
        running.add(new_event("decision", asdict(decision)))

    def on_step(outcome: StepOutcome) -> None:
        told = {"id": outcome.id, "function": outcome.function, "status": outcome.status.value}
        running.add(new_event("step", told))

    caller = PlanCaller(
        principal=order.principal,
        agent=None if order.agent_id is None else str(order.agent_id),
        session=order.session,
        policies=order.policies,
        via="http",
    )
    result = await run_plan(
        runtime,
        checked,
        caller,
        execution_id=order.id,
        on_decision=on_decision,
        on_step=on_step,
    )
    text = msgspec.json.encode(result.as_json()).decode()
    return {"status": RunState.FINISHED.value, "result": text}
