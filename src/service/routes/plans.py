"""`/v1/plans`: check a plan as a whole, and run it step by step.

A run is an execution like one of code: it is kept, followed, polled and cancelled under
`/v1/executions`.
"""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

import anyio.to_thread
from fastapi import APIRouter, Request
from pydantic import Field
from starlette.responses import Response

from caps.agents.plans.plan import MAX_PLAN_BYTES, Plan, plan_of
from caps.agents.plans.problems import PlanInvalidError, as_json
from caps.agents.plans.validate import CheckedPlan, validate
from caps.capabilities.grant import BoundPolicy
from caps.security.policies.load import json_place
from caps.security.policies.plain_json import NotJsonError
from caps.security.policies.strict_json import strict_json
from caps.service.bodies import Body, JsonObject, Key, answer
from caps.service.description.shapes import named
from caps.service.executions.plan_runs import plan_order
from caps.service.problems import Problem
from caps.service.routes.executions import SessionName, policies_of, start_order
from caps.service.secured_route import SecuredRoute, needs
from caps.service.service import Caller, Service, ServiceGiven
from caps.service.signin.roles import Role
from caps.store.columns import new_id

router = APIRouter(route_class=SecuredRoute, tags=["plans"])

_Policies = tuple[BoundPolicy, ...]


class GivenPlan(Body):
    """A plan, to be checked as an agent or under the operator's policy alone."""

    plan: JsonObject
    agent_id: Annotated[UUID, Field(strict=False)] | None = None


class NewPlanRun(GivenPlan):
    """A plan to run. Without `wait` the answer comes at once, with 202."""

    session: SessionName | None = None
    wait: bool = True


@router.post(
    "/v1/plans/validate", openapi_extra=needs(Role.VIEWER, 404, answers={200: named("PlanReview")})
)
async def validate_plan(request: Request, body: GivenPlan, service: ServiceGiven) -> Response:
    """All that is wrong with a plan, each with its step and its place. Nothing runs."""
    await _check_strictly(request)
    try:
        checked, _ = await _checked(service, body)
    except PlanInvalidError as error:
        found = {"valid": False, "cost": None, "problems": error.details["problems"]}
        return answer(found)
    return answer(
        {
            "valid": not checked.errors,
            "cost": checked.cost,
            "problems": as_json(checked.problems),
        }
    )


@router.post(
    "/v1/plans/run",
    status_code=201,
    openapi_extra=needs(
        Role.RUNNER, 404, answers={201: named("Execution"), 202: named("Execution")}
    ),
)
async def run_plan(
    request: Request, body: NewPlanRun, service: ServiceGiven, caller: Caller, key: Key = None
) -> Response:
    """Run a valid plan, step by step, each through the broker. A step that fails stops it."""
    await _check_strictly(request)
    checked, policies = await _checked(service, body)
    checked.require_valid()
    order = plan_order(
        checked,
        execution_id=new_id().hex,
        principal=caller.name,
        agent_id=body.agent_id,
        session=body.session,
        policies=policies,
    )
    return await start_order(request, service, caller, order, key=key, wait=body.wait)


async def _checked(service: Service, body: GivenPlan) -> tuple[CheckedPlan, _Policies]:
    """The plan under all policies that it would run under. PlanInvalidError for its form."""
    plan: Plan = plan_of(body.plan)
    policies = await policies_of(service, body.agent_id, plan.policy)
    chain = service.runtime.registry.chain((*service.runtime.policies, *policies))
    # In a thread: other requests go on while a large plan is checked.
    checked = await anyio.to_thread.run_sync(validate, plan, service.runtime.registry, chain)
    return checked, policies


async def _check_strictly(request: Request) -> None:
    """Problem (400) for a body that two readers would understand differently, or a large one."""
    data = await request.body()
    if len(data) > MAX_PLAN_BYTES:
        raise Problem(413, "body_too_large", f"a plan is at most {MAX_PLAN_BYTES} bytes")
    try:
        strict_json(data.decode())
    except NotJsonError as error:
        raise Problem(400, "json_invalid", str(error), path=json_place(error.path)) from None
    except ValueError:
        raise Problem(400, "json_invalid", "the body is not JSON") from None
