"""(2) From an agent to the caller that an MCP server answers: its tools, its prompt, its policies.

The policies of the agent go beneath those of the operator, and that of a token beneath both.
"""

from __future__ import annotations

import functools
import hashlib
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

import msgspec
from sqlalchemy import Connection

from caps.agents.resolution import AgentResolver, bind_given
from caps.capabilities.broker.flow import FlowState
from caps.capabilities.grant import BoundPolicy
from caps.capabilities.runtime.runtime import Runtime
from caps.mcp.server.caller import Caller
from caps.protocol.errors import ConfigurationError
from caps.protocol.text import printable
from caps.store.columns import new_id, now
from caps.store.database import Store
from caps.store.repositories.agents import Agents, StoredAgent

_PAGE: Final = 200
_KEPT: Final = 256
_ACTIVE: Final = "active"


class Callers:
    """Makes callers, and keeps the policies of tokens that it has bound."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._resolver = AgentResolver(runtime)
        self._bound: OrderedDict[bytes, BoundPolicy] = OrderedDict()

    async def caller(
        self,
        agent: StoredAgent | None,
        *,
        principal: str,
        session: str,
        policy: Mapping[str, Any] | None = None,
        shown_as: str | None = None,
        flow: FlowState | None = None,
    ) -> Caller:
        """The caller; without an agent it has every function that the policies grant.

        `policy` is that of its token. `shown_as` is the agent in the records, instead of its id.
        `flow` is what the session was answered, if its connection is to hold it.
        Raises AgentInvalidError, ProviderError and PolicyInvalidError.
        """
        added = () if policy is None else (await self._policy(policy),)
        if agent is None:
            return Caller(principal=principal, session=session, policies=added, flow=flow)
        ready = await self._resolver.ready(agent)
        return Caller(
            principal=principal,
            agent=shown_as or str(agent.id),
            session=session,
            policies=(*ready.policies, *added),
            tools=ready.resolved.tools,
            instructions=ready.system_prompt,
            flow=flow,
        )

    def session_flow(self, principal: str, session: str) -> FlowState:
        """What the session was answered; it is forgotten when nobody holds it."""
        return self._runtime.session_flow(principal, session, stored=True)

    async def _policy(self, policy: Mapping[str, Any]) -> BoundPolicy:
        key = hashlib.sha256(msgspec.json.encode(policy, order="deterministic")).digest()
        found = self._bound.get(key)
        if found is None:
            found = self._bound[key] = await bind_given(self._runtime, policy)
        self._bound.move_to_end(key)
        while len(self._bound) > _KEPT:
            self._bound.popitem(last=False)
        return found


async def find_agent(store: Store, wanted: str) -> StoredAgent:
    """The stored agent with this id, or the only one with this name. Raises ConfigurationError."""
    agent_id = as_agent_id(wanted)
    if agent_id is not None:
        found = await store.read(lambda connection: Agents(connection).find(agent_id))
        matches = [] if found is None else [found]
    else:
        matches = await _named(store, wanted)
    if len(matches) != 1:
        what = "is no agent" if not matches else f"are {len(matches)} agents"
        raise ConfigurationError(
            f"there {what} `{printable(wanted)}`; use the id of an agent, or a file"
        )
    return matches[0]


def as_agent_id(text: str) -> UUID | None:
    """The id, if `text` is one."""
    try:
        return UUID(text)
    except ValueError:
        return None


def _page(after: UUID | None, connection: Connection) -> list[StoredAgent]:
    return Agents(connection).page(after=after, limit=_PAGE)


async def _named(store: Store, name: str) -> list[StoredAgent]:
    matches: list[StoredAgent] = []
    after: UUID | None = None
    while True:
        page = await store.read(functools.partial(_page, after))
        matches += [each for each in page if each.name == name]
        if len(page) < _PAGE:
            return matches
        after = page[-1].id


class _AgentFile(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    description: str = ""
    system_prompt: str = ""
    capabilities: dict[str, Any] | list[str] = []
    policy: dict[str, Any] | None = None


def agent_in_file(data: bytes, created_by: str) -> StoredAgent:
    """An agent that is in no store, of a file as the service takes it. Raises ConfigurationError.

    Its id is a new one each time, so it is known by its name.
    """
    try:
        given = msgspec.json.decode(data, type=_AgentFile)
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        raise ConfigurationError(f"the agent cannot be read: {error}") from None
    time = now()
    return StoredAgent(
        **msgspec.structs.asdict(given),
        id=new_id(),
        status=_ACTIVE,
        created_by=created_by,
        revision=1,
        created_at=time,
        updated_at=time,
    )
