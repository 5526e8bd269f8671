"""`/v1/calls`: one call of one function, as a model that calls a tool makes it."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter
from pydantic import Field
from starlette.responses import Response

from caps.service.bodies import Body, JsonObject, Key, answer
from caps.service.description.shapes import named
from caps.service.routes.executions import SessionName, policies_of
from caps.service.secured_route import SecuredRoute, needs
from caps.service.service import Caller, ServiceGiven
from caps.service.signin.roles import Role

router = APIRouter(route_class=SecuredRoute, tags=["calls"])


class NewCall(Body):
    """A function with its arguments."""

    function: Annotated[str, Field(min_length=1, max_length=256)]
    payload: JsonObject = Field(default_factory=dict)
    agent_id: Annotated[UUID, Field(strict=False)] | None = None
    policy: JsonObject | None = None
    session: SessionName | None = None
    timeout_ms: Annotated[int, Field(ge=1, le=3_600_000)] | None = None


@router.post("/v1/calls", openapi_extra=needs(Role.RUNNER, 404, answers={200: named("CallResult")}))
async def create_call(
    body: NewCall, service: ServiceGiven, caller: Caller, key: Key = None
) -> Response:
    """Make the call. A refusal or a failure is a result, too: see `ok` and `error`."""
    policies = await policies_of(service, body.agent_id, body.policy)
    result = await service.runtime.call(
        body.function,
        body.payload,
        principal=caller.name,
        agent=None if body.agent_id is None else str(body.agent_id),
        session=body.session,
        policy=list(policies) or None,
        timeout_ms=body.timeout_ms,
        idempotency_key=key,
        via="http",
    )
    return answer(result.as_json())
