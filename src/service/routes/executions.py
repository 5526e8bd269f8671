"""`/v1/executions`: run code, wait for it or come back later, follow it, and cancel it.

The principal is that of the token and the agent that of the store; the body can name neither.
A policy in the body lies beneath those of the operator and of the agent. Only the principal of an
execution and admins find it.
"""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

import msgspec
from fastapi import APIRouter, Header, Request
from pydantic import Field
from sqlalchemy import Connection
from starlette.responses import Response, StreamingResponse

from caps.agents.resolution import bind_given
from caps.capabilities.grant import BoundPolicy
from caps.security.policy import COST
from caps.service.bodies import (
    REPLAYED,
    Body,
    Cursor,
    JsonObject,
    Key,
    Limit,
    StoredText,
    answer,
    fingerprint,
    is_replay,
    page,
)
from caps.service.description.shapes import named, page_of
from caps.service.executions.events import event_stream
from caps.service.executions.runner import ExecutionOrder
from caps.service.problems import Problem
from caps.service.routes.agents import find_agent
from caps.service.secured_route import SecuredRoute, needs
from caps.service.service import Caller, Service, ServiceGiven
from caps.service.signin.roles import Principal, Role
from caps.store.columns import new_id
from caps.store.repositories.executions import UNFINISHED, Executions, StoredExecution
from caps.store.repositories.idempotency_keys import IdempotencyKeys

router = APIRouter(route_class=SecuredRoute, tags=["executions"])

LastEventId = Annotated[int, Header(alias="Last-Event-ID", ge=0, le=2**53)]
Budget = Annotated[float, Field(ge=0, le=COST)]
SessionName = Annotated[StoredText, Field(min_length=1, max_length=256)]


class NewExecution(Body):
    """Code to run. Without `wait` the answer comes at once, with 202."""

    code: str = Field(max_length=4 * 1024 * 1024)
    agent_id: Annotated[UUID, Field(strict=False)] | None = None
    policy: JsonObject | None = None
    inputs: JsonObject | None = None
    argv: Annotated[list[str], Field(max_length=1024)] | None = None
    session: SessionName | None = None
    filename: Annotated[str, Field(min_length=1, max_length=256)] = "<agent>"
    check: bool = False
    budget: Budget | None = None
    wait: bool = True


@router.post(
    "/v1/executions",
    status_code=201,
    openapi_extra=needs(
        Role.RUNNER, 404, answers={201: named("Execution"), 202: named("Execution")}
    ),
)
async def create_execution(
    request: Request, body: NewExecution, service: ServiceGiven, caller: Caller, key: Key = None
) -> Response:
    """Run code as an agent, or under the operator's policy alone."""
    policies = await policies_of(service, body.agent_id, body.policy)
    order = ExecutionOrder(
        id=new_id().hex,
        principal=caller.name,
        code=body.code,
        agent_id=body.agent_id,
        session=body.session,
        inputs=body.inputs,
        argv=None if body.argv is None else tuple(body.argv),
        filename=body.filename,
        check=body.check,
        policies=policies,
        budget=body.budget,
    )
    return await start_order(request, service, caller, order, key=key, wait=body.wait)


async def start_order(
    request: Request,
    service: Service,
    caller: Principal,
    order: ExecutionOrder,
    *,
    key: str | None,
    wait: bool,
) -> Response:
    """Keep the execution and start it, unless the key was used before; wait for it if asked to."""
    row, digest = order.row(service.runner.instance), await fingerprint(request)

    def work(connection: Connection) -> str:
        if key is not None:
            claimed = IdempotencyKeys(connection).claim(caller.name, key, digest, order.id)
            if is_replay(claimed, digest, order.id):
                return claimed.resource
        Executions(connection).add(row)
        return order.id

    with service.runner.place(caller.name):
        kept = await service.store.write(work)
        if kept == order.id:
            service.runner.start(order)
    if wait:
        await _wait(service, kept)
    execution = await _own(service, caller, kept)
    headers = {
        "Location": f"/v1/executions/{kept}",
        REPLAYED: None if kept == order.id else "true",
    }
    is_under_way = execution.status in UNFINISHED
    return answer(_document(execution), 202 if is_under_way else 201, headers)


@router.get("/v1/executions", openapi_extra=needs(Role.VIEWER, answers={200: page_of("Execution")}))
async def list_executions(
    service: ServiceGiven, caller: Caller, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    """The caller's executions, newest first; those of everybody for an admin. Without results."""
    principal = None if caller.role is Role.ADMIN else caller.name
    found = await service.store.read(
        lambda connection: Executions(connection).page(principal, before=cursor, limit=limit + 1)
    )
    items = [_document(msgspec.structs.replace(each, result=None)) for each in found]
    return page(items, limit)


@router.get(
    "/v1/executions/{execution_id}",
    openapi_extra=needs(Role.VIEWER, answers={200: named("Execution")}),
)
async def get_execution(execution_id: str, service: ServiceGiven, caller: Caller) -> Response:
    """Where an execution stands, and its result once there is one."""
    return answer(_document(await _own(service, caller, execution_id)))


@router.get(
    "/v1/executions/{execution_id}/events",
    openapi_extra=needs(Role.VIEWER),
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {}}}},
)
async def follow_execution(
    execution_id: str, service: ServiceGiven, caller: Caller, last_event_id: LastEventId = 0
) -> Response:
    """Server-sent events: started, output, decision, artifact, and finished with the result."""
    await _own(service, caller, execution_id)
    stream = event_stream(service.store, service.runner, execution_id, last_event_id)
    return StreamingResponse(stream, media_type="text/event-stream")


@router.post(
    "/v1/executions/{execution_id}/cancel",
    openapi_extra=needs(Role.RUNNER, 409, answers={200: named("Execution")}),
)
async def cancel_execution(execution_id: str, service: ServiceGiven, caller: Caller) -> Response:
    """End an execution: its worker is killed. One that has ended already is left as it is."""
    execution = await _own(service, caller, execution_id)
    running = service.runner.find(execution_id)
    if running is not None:
        running.scope.cancel()
        await running.ended.wait()
        execution = await _own(service, caller, execution_id)
    elif execution.status in UNFINISHED:
        raise Problem(409, "execution_elsewhere", "another instance of the service runs it")
    return answer(_document(execution))


async def policies_of(
    service: Service, agent_id: UUID | None, policy: dict[str, Any] | None
) -> tuple[BoundPolicy, ...]:
    """What lies beneath the operator's policies: those of the agent, then that of the request."""
    policies: tuple[BoundPolicy, ...] = ()
    if agent_id is not None:
        agent = await find_agent(service, agent_id)
        policies = (await service.agents.ready(agent)).policies
    if policy is not None:
        policies = (*policies, await bind_given(service.runtime, policy))
    return policies


async def _wait(service: Service, execution_id: str) -> None:
    running = service.runner.find(execution_id)
    if running is not None:
        await running.ended.wait()


async def _own(service: Service, caller: Principal, execution_id: str) -> StoredExecution:
    """The execution, if this caller may see it. Problem (404) also if it is another's."""
    found = None
    if len(execution_id) == 32 and execution_id.isalnum() and execution_id.isascii():
        found = await service.store.read(
            lambda connection: Executions(connection).find(execution_id)
        )
    if found is None or (found.principal != caller.name and caller.role is not Role.ADMIN):
        raise Problem(404, "execution_unknown", "there is no such execution")
    return found


def _document(execution: StoredExecution) -> dict[str, Any]:
    document: dict[str, Any] = msgspec.to_builtins(execution)
    del document["instance"]
    for name in ("error", "result"):
        text = document[name]
        document[name] = None if text is None else msgspec.Raw(text.encode())
    return document
