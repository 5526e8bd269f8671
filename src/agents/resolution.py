"""(2) From a stored agent to what it may do: its tools, its prompt, and policies for a grant.

The policies go beneath those of the operator, so an agent can only have less than the operator
allows. They are bound once for each revision of an agent.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

import msgspec

from caps.capabilities.catalogue.context import ResolverContext
from caps.capabilities.catalogue.injections import ExecutionMode
from caps.capabilities.catalogue.result import ResolvedCapabilities, ResolvedTool
from caps.capabilities.grant import BoundPolicy
from caps.capabilities.registry import CapabilityRegistry
from caps.capabilities.runtime.runtime import Runtime
from caps.protocol.errors import PolicyInvalidError
from caps.store.repositories.agents import Capabilities, StoredAgent

_KEPT: Final = 1024


class ReadyAgent(msgspec.Struct, frozen=True, kw_only=True):
    """An agent of one revision, resolved, with its policies bound."""

    resolved: ResolvedCapabilities
    system_prompt: str
    policies: tuple[BoundPolicy, ...]


class EffectiveAgent(msgspec.Struct, frozen=True, kw_only=True):
    """What a model is given as this agent, under the policies that are in force now."""

    system_prompt: str
    tools: tuple[ResolvedTool, ...]
    withheld: tuple[str, ...]
    """The keys of tools that the operator's policy does not allow."""
    policy: Mapping[str, Any]
    stubs: str
    warnings: tuple[str, ...]


def resolve_agent(
    registry: CapabilityRegistry, capabilities: Capabilities, name: str
) -> ResolvedCapabilities:
    """What the capabilities amount to. Raises AgentInvalidError and ProviderError."""
    return registry.resolve(capabilities, ResolverContext(agent={"name": name}))


def withheld_tools(runtime: Runtime, ready: ReadyAgent) -> tuple[str, ...]:
    """The keys of tools whose functions the policies in force do not grant, sorted."""
    chain = runtime.registry.chain((*runtime.policies, *ready.policies))
    granted, functions = frozenset(chain.granted), runtime.registry.capabilities
    return tuple(
        sorted(
            tool.key
            for tool in ready.resolved.tools
            if tool.function in functions and tool.function not in granted
        )
    )


async def bind_given(runtime: Runtime, policy: Mapping[str, Any]) -> BoundPolicy:
    """A policy of a caller, bound. PolicyInvalidError, which names no path of the host."""
    runtime.registry.bind(dict(policy))
    try:
        return await runtime.bind(dict(policy))
    except PolicyInvalidError:
        # It fits the registry, so what is left are places of the host that its scopes reach.
        what = "its scopes reach files of the service, or its modules are not installed"
        raise PolicyInvalidError(f"the policy is refused: {what}", place="policy") from None


class AgentResolver:
    """Resolves stored agents, and keeps what it resolved."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._ready: OrderedDict[tuple[UUID, int], ReadyAgent] = OrderedDict()

    async def ready(self, agent: StoredAgent) -> ReadyAgent:
        """Raises AgentInvalidError, ProviderError and PolicyInvalidError."""
        key = (agent.id, agent.revision)
        found = self._ready.get(key)
        if found is None:
            found = self._ready[key] = await self._made(agent)
        self._ready.move_to_end(key)
        while len(self._ready) > _KEPT:
            self._ready.popitem(last=False)
        return found

    async def check(self, agent: StoredAgent) -> None:
        """Raise as `ready` does, and keep nothing: the agent may yet lose to another change."""
        await self._made(agent)

    async def effective(self, agent: StoredAgent) -> EffectiveAgent:
        """What a model is given now. Raises as `ready` does."""
        found = await self.ready(agent)
        resolved, withheld = found.resolved, withheld_tools(self._runtime, found)
        return EffectiveAgent(
            system_prompt=found.system_prompt,
            tools=tuple(tool for tool in resolved.tools if tool.key not in withheld),
            withheld=withheld,
            policy=resolved.policy.model_dump(mode="json", exclude_unset=True),
            stubs=self._runtime.stubs(found.policies),
            warnings=resolved.warnings,
        )

    async def for_run(
        self, agent: StoredAgent, ctx: ResolverContext, mode: ExecutionMode
    ) -> ReadyAgent:
        """The agent in the context of one run, with the injections of `mode`; nothing is kept.

        Raises as `ready` does.
        """
        registry = self._runtime.registry
        return await self._bound(agent, registry.resolve(agent.capabilities, ctx, mode=mode))

    async def _made(self, agent: StoredAgent) -> ReadyAgent:
        resolved = resolve_agent(self._runtime.registry, agent.capabilities, agent.name)
        return await self._bound(agent, resolved)

    async def _bound(self, agent: StoredAgent, resolved: ResolvedCapabilities) -> ReadyAgent:
        granted = resolved.policy.model_dump(mode="json", exclude_unset=True)
        policies = [await bind_given(self._runtime, granted)]
        if agent.policy is not None:
            policies.append(await bind_given(self._runtime, agent.policy))
        return ReadyAgent(
            resolved=resolved,
            system_prompt=resolved.runtime_agent(agent.system_prompt).system_prompt,
            policies=tuple(policies),
        )
