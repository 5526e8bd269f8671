"""`/v1/plans`: check a plan, and run it as an execution."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from caps.client.exchange import with_key
from caps.client.message import Request, Route, json_body, read_as
from caps.client.routes.executions import read_execution
from caps.client.values import Execution, PlanCheck

VALIDATE = Route("POST", "/v1/plans/validate")
RUN = Route("POST", "/v1/plans/run")


def validate_plan(plan: Mapping[str, Any], *, agent_id: str | None = None) -> Request[PlanCheck]:
    """All that is wrong with a plan, each with its step. Nothing runs."""
    return Request(
        method=VALIDATE.method,
        path=VALIDATE.path(),
        body=json_body({"plan": plan, "agent_id": agent_id}),
        read=read_as(PlanCheck),
        is_repeatable=True,
    )


def start_plan(
    plan: Mapping[str, Any],
    *,
    agent_id: str | None = None,
    session: str | None = None,
    idempotency_key: str | None = None,
) -> Request[Execution]:
    """Run a valid plan in the background; `wait` and `events` follow it."""
    fields = {"plan": plan, "agent_id": agent_id, "session": session, "wait": False}
    made: Request[Execution] = Request(
        method=RUN.method,
        path=RUN.path(),
        body=json_body(fields),
        read=read_execution,
        accepted=frozenset({201, 202}),
    )
    return with_key(made, idempotency_key)
