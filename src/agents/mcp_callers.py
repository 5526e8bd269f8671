"""(2) From an agent to the caller that an MCP server answers: its tools, its prompt, its policies.

The policies of the agent go beneath those of the operator, and that of a token beneath both.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

import msgspec

from caps.agents.resolution import AgentResolver, bind_given
from caps.capabilities.broker.flow import FlowState
from caps.capabilities.grant import BoundPolicy
from caps.capabilities.runtime.runtime import Runtime
from caps.mcp.server.caller import Caller
from caps.protocol.errors import ConfigurationError
from caps.protocol.text import printable
from caps.store.database import Store
from caps.store.repositories.agents import Agents, StoredAgent

_KEPT: Final = 256


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
        matches = await store.read(lambda connection: Agents(connection).page(limit=2, name=wanted))
    if len(matches) != 1:
        what = "are several agents" if matches else "is no agent"
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
