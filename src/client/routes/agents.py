"""`/v1/agents`. With `if_match`, a change happens only at the version with that `etag`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from caps.client.exchange import with_key
from caps.client.message import Answer, Request, Route, json_body, read_as
from caps.client.values import Agent, EffectiveAgent, Page

CREATE = Route("POST", "/v1/agents")
LIST = Route("GET", "/v1/agents")
GET = Route("GET", "/v1/agents/{agent_id}")
EFFECTIVE = Route("GET", "/v1/agents/{agent_id}/effective")
CHANGE = Route("PATCH", "/v1/agents/{agent_id}")
DELETE = Route("DELETE", "/v1/agents/{agent_id}")

Capabilities = Sequence[str] | Mapping[str, Any]


class _Unset:
    """What stays as it is."""


UNSET: Final = _Unset()


def create_agent(
    name: str,
    *,
    description: str = "",
    system_prompt: str = "",
    capabilities: Capabilities = (),
    policy: Mapping[str, Any] | None = None,
    idempotency_key: str | None = None,
) -> Request[Agent]:
    """Keep a new agent. Raises RequestInvalidError if it does not fit the registry."""
    fields = {
        "name": name,
        "description": description,
        "system_prompt": system_prompt,
        "capabilities": capabilities,
        "policy": policy,
    }
    made: Request[Agent] = Request(
        method=CREATE.method,
        path=CREATE.path(),
        body=json_body(fields),
        read=_agent,
        accepted=frozenset({201}),
    )
    return with_key(made, idempotency_key)


def list_agents(
    *, name: str | None = None, limit: int = 50, cursor: str | None = None
) -> Request[Page[Agent]]:
    """A page of agents, oldest first, or of those of a name; `agents` iterates over all."""
    return Request(
        method=LIST.method,
        path=LIST.path(),
        query={"name": name, "limit": limit, "cursor": cursor},
        read=read_as(Page[Agent]),
        is_repeatable=True,
    )


def get_agent(agent_id: str) -> Request[Agent]:
    """One agent, with its `etag`."""
    path = GET.path(agent_id=agent_id)
    return Request(method=GET.method, path=path, read=_agent, is_repeatable=True)


def get_agent_if_changed(agent_id: str, etag: str) -> Request[Agent | None]:
    """The agent if it is no longer at the version of `etag`, else None."""
    return Request(
        method=GET.method,
        path=GET.path(agent_id=agent_id),
        headers={"If-None-Match": etag},
        read=lambda answer: None if answer.status == 304 else _agent(answer),
        accepted=frozenset({200, 304}),
        is_repeatable=True,
    )


def get_effective_agent(agent_id: str) -> Request[EffectiveAgent]:
    """The prompt, tools, policy and stubs that a model gets as this agent now."""
    path = EFFECTIVE.path(agent_id=agent_id)
    return Request(
        method=EFFECTIVE.method, path=path, read=read_as(EffectiveAgent), is_repeatable=True
    )


def change_agent(
    agent_id: str,
    *,
    name: str | _Unset = UNSET,
    description: str | _Unset = UNSET,
    system_prompt: str | _Unset = UNSET,
    capabilities: Capabilities | _Unset = UNSET,
    policy: Mapping[str, Any] | _Unset | None = UNSET,
    if_match: str | None = None,
) -> Request[Agent]:
    """Change what is named. Raises ChangedError if it is not at the version `if_match`."""
    fields = {
        "name": name,
        "description": description,
        "system_prompt": system_prompt,
        "capabilities": capabilities,
    }
    named: dict[str, Any] = {
        key: value for key, value in fields.items() if not isinstance(value, _Unset)
    }
    if not isinstance(policy, _Unset):  # None takes the policy away
        named["policy"] = msgspec.Raw(b"null") if policy is None else policy
    return Request(
        method=CHANGE.method,
        path=CHANGE.path(agent_id=agent_id),
        headers={"If-Match": if_match},
        body=json_body(named),
        read=_agent,
    )


def delete_agent(agent_id: str, *, if_match: str | None = None) -> Request[None]:
    """Delete an agent and what is its own. Raises ChangedError as `change_agent` does."""
    return Request(
        method=DELETE.method,
        path=DELETE.path(agent_id=agent_id),
        headers={"If-Match": if_match},
        read=lambda _answer: None,
        accepted=frozenset({204}),
    )


def _agent(answer: Answer) -> Agent:
    return msgspec.structs.replace(answer.decode(Agent), etag=answer.headers.get("etag"))
