"""`/v1/agents`: stored agents. Their capabilities are read back in the form in which they came."""

from __future__ import annotations

from typing import Annotated, Any, Final
from uuid import UUID

import msgspec
from fastapi import APIRouter, Header, Query, Request
from pydantic import AfterValidator, Field, WithJsonSchema
from sqlalchemy import Connection
from starlette.responses import Response

from caps.agents.definition import MAX_NAME_CHARACTERS, new_agent
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
    without_nul,
)
from caps.service.description.shapes import named, page_of
from caps.service.problems import Problem
from caps.service.secured_route import SecuredRoute, needs
from caps.service.service import Caller, Service, ServiceGiven
from caps.service.signin.roles import Role
from caps.store.columns import now
from caps.store.repositories.agents import Agents, StoredAgent
from caps.store.repositories.idempotency_keys import IdempotencyKeys

router = APIRouter(route_class=SecuredRoute, tags=["agents"])

_UNCHANGED: Final[dict[int | str, dict[str, Any]]] = {304: {"description": "Not Modified"}}
IfMatch = Annotated[str | None, Header(alias="If-Match", max_length=64)]
IfNoneMatch = Annotated[str | None, Header(alias="If-None-Match", max_length=64)]
Name = Annotated[StoredText, Field(min_length=1, max_length=MAX_NAME_CHARACTERS)]
OfName = Annotated[
    str | None,
    Query(min_length=1, max_length=MAX_NAME_CHARACTERS),
    AfterValidator(lambda name: name if name is None else without_nul(name)),
]
Description = Annotated[StoredText, Field(max_length=4096)]
Prompt = Annotated[StoredText, Field(max_length=256 * 1024)]
# Checked by the registry, whose errors name the place.
Capabilities = Annotated[
    Any,
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "array", "items": {"type": "string"}},
                {"type": "object", "additionalProperties": {"type": "object"}},
            ]
        }
    ),
]


class NewAgent(Body):
    """An agent to keep."""

    name: Name
    description: Description = ""
    system_prompt: Prompt = ""
    capabilities: Capabilities = Field(default_factory=list)
    policy: JsonObject | None = None


class AgentChange(Body):
    """What to change; what is not named stays."""

    name: Name = ""
    description: Description = ""
    system_prompt: Prompt = ""
    capabilities: Capabilities = None
    policy: JsonObject | None = None


@router.post(
    "/v1/agents",
    status_code=201,
    openapi_extra=needs(Role.PUBLISHER, 409, answers={201: named("Agent")}),
)
async def create_agent(
    request: Request, body: NewAgent, service: ServiceGiven, caller: Caller, key: Key = None
) -> Response:
    """Keep a new agent, once its capabilities and its policy fit the registry."""
    agent = new_agent(
        body.name,
        body.capabilities,
        description=body.description,
        system_prompt=body.system_prompt,
        policy=body.policy,
        created_by=caller.name,
    )
    await service.agents.check(agent)
    digest = await fingerprint(request)

    def work(connection: Connection) -> StoredAgent | None:
        if key is not None:
            claimed = IdempotencyKeys(connection).claim(caller.name, key, digest, str(agent.id))
            if is_replay(claimed, digest, str(agent.id)):
                return Agents(connection).find(UUID(claimed.resource))
        Agents(connection).add(agent)
        return agent

    kept = await service.store.write(work)
    if kept is None:
        raise Problem(409, "agent_deleted", "the agent of this key was deleted since")
    replayed = None if kept is agent else "true"
    return _agent_answer(kept, 201, {"Location": f"/v1/agents/{kept.id}", REPLAYED: replayed})


@router.get("/v1/agents", openapi_extra=needs(Role.VIEWER, answers={200: page_of("Agent")}))
async def list_agents(
    service: ServiceGiven, limit: Limit = 50, cursor: Cursor = None, name: OfName = None
) -> Response:
    """Agents, oldest first; with `name` only those of this name."""
    after = None if cursor is None else _cursor(cursor)
    found = await service.store.read(
        lambda connection: Agents(connection).page(after=after, limit=limit + 1, name=name)
    )
    return page([_document(each) for each in found], limit)


@router.get(
    "/v1/agents/{agent_id}",
    responses=_UNCHANGED,
    openapi_extra=needs(Role.VIEWER, answers={200: named("Agent")}),
)
async def get_agent(
    agent_id: UUID, service: ServiceGiven, if_none_match: IfNoneMatch = None
) -> Response:
    """One agent; its `ETag` is that of `If-Match`."""
    agent = await find_agent(service, agent_id)
    if if_none_match == _tag(agent):
        return Response(status_code=304, headers={"ETag": _tag(agent)})
    return _agent_answer(agent)


@router.get(
    "/v1/agents/{agent_id}/effective",
    openapi_extra=needs(Role.VIEWER, answers={200: named("EffectiveAgent")}),
)
async def get_effective_agent(agent_id: UUID, service: ServiceGiven) -> Response:
    """What a model is given as this agent, under the policies that are in force now."""
    agent = await find_agent(service, agent_id)
    effective = await service.agents.effective(agent)
    document = msgspec.to_builtins({"id": str(agent.id), **msgspec.structs.asdict(effective)})
    return answer(document, headers={"ETag": _tag(agent)})


@router.patch(
    "/v1/agents/{agent_id}", openapi_extra=needs(Role.PUBLISHER, answers={200: named("Agent")})
)
async def change_agent(
    agent_id: UUID, body: AgentChange, service: ServiceGiven, if_match: IfMatch = None
) -> Response:
    """Change what the body names. With `If-Match`, only at that version."""
    before = await find_agent(service, agent_id)
    _check_match(before, if_match)
    named: dict[str, Any] = {name: getattr(body, name) for name in body.model_fields_set}
    after = msgspec.structs.replace(before, **named, revision=before.revision + 1, updated_at=now())
    await service.agents.check(after)

    def work(connection: Connection) -> None:
        found = Agents(connection).find(agent_id, for_change=True)
        if found is None:
            raise _unknown()
        if found.revision != before.revision:
            raise _changed()
        Agents(connection).replace(after)

    await service.store.write(work)
    return _agent_answer(after)


@router.delete("/v1/agents/{agent_id}", status_code=204, openapi_extra=needs(Role.PUBLISHER))
async def delete_agent(agent_id: UUID, service: ServiceGiven, if_match: IfMatch = None) -> Response:
    """Delete an agent and what is its own. Its executions stay: they are its callers'."""

    def work(connection: Connection) -> None:
        found = Agents(connection).find(agent_id, for_change=True)
        if found is None:
            raise _unknown()
        _check_match(found, if_match)
        Agents(connection).delete(agent_id)

    await service.store.write(work)
    return Response(status_code=204)


async def find_agent(service: Service, agent_id: UUID) -> StoredAgent:
    """The stored agent. Raises Problem (404)."""
    found = await service.store.read(lambda connection: Agents(connection).find(agent_id))
    if found is None:
        raise _unknown()
    return found


def _cursor(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise Problem(
            422, "cursor_invalid", "use the `next_cursor` of a page", path="query.cursor"
        ) from None


def _check_match(agent: StoredAgent, if_match: str | None) -> None:
    if if_match not in (None, "*", _tag(agent)):
        raise _changed()


def _changed() -> Problem:
    return Problem(412, "agent_changed", "the agent was changed since; read it again")


def _unknown() -> Problem:
    return Problem(404, "agent_unknown", "there is no such agent")


def _tag(agent: StoredAgent) -> str:
    return f'"{agent.revision}"'


def _document(agent: StoredAgent) -> dict[str, Any]:
    document: dict[str, Any] = msgspec.to_builtins(agent)
    return document


def _agent_answer(
    agent: StoredAgent, status: int = 200, headers: dict[str, str | None] | None = None
) -> Response:
    return answer(_document(agent), status, {"ETag": _tag(agent), **(headers or {})})
