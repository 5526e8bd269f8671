"""The agents of the store, for the commands."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar
from uuid import UUID

from caps.cli.agents.matches import MATCHES, agent_id_in, can_be_a_name, only_one
from caps.cli.options import load_registry, principal_or_user

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from caps.agents.definition import AgentDefinition
    from caps.store.repositories.agents import Agents, StoredAgent

T = TypeVar("T")

_PAGE: Final = 200


class StoredAgents:
    """The agents of the store on this host: an `AgentPlace`."""

    def __init__(self, url: str | None, registry_name: str | None, principal: str | None) -> None:
        self._url = url
        self._registry_name = registry_name
        self._principal = principal

    def create(self, defined: AgentDefinition) -> dict[str, Any]:
        import msgspec

        from caps.agents.definition import new_agent
        from caps.agents.resolution import resolve_agent

        registry = load_registry(self._registry_name)
        resolve_agent(registry, defined.capabilities, defined.name)
        if defined.policy is not None:
            registry.bind(defined.policy)
        fields = msgspec.structs.asdict(defined)
        agent = new_agent(**fields, created_by=principal_or_user(self._principal))
        _in_store(self._url, lambda agents: agents.add(agent), writes=True)
        return _document(agent)

    def listed(self) -> list[dict[str, Any]]:
        return [_document(each) for each in _in_store(self._url, _all)]

    def find(self, given: str) -> dict[str, Any]:
        return _document(find_agent(self._url, given))

    def tools(self, agent: dict[str, Any]) -> tuple[list[dict[str, Any]], list[str]]:
        from caps.agents.resolution import resolve_agent

        registry = load_registry(self._registry_name)
        resolved = resolve_agent(registry, agent["capabilities"], agent["name"])
        tools = [{"key": each.key, "function": each.function} for each in resolved.tools]
        return tools, list(resolved.warnings)

    def delete(self, agent: dict[str, Any]) -> None:
        _in_store(self._url, lambda agents: agents.delete(UUID(agent["id"])), writes=True)


def find_agent(url: str | None, given: str) -> StoredAgent:
    """The agent of this id, or the only one of this name; ends the command if there is none."""
    return only_one(_in_store(url, lambda agents: _matches(agents, given)), given)


def _in_store(url: str | None, work: Callable[[Agents], T], *, writes: bool = False) -> T:
    """What `work` returns, in one transaction of the store. Raises StoreError."""
    import anyio

    from caps.store import open_store

    def transaction(connection: Connection) -> T:
        from caps.store.repositories.agents import Agents

        return work(Agents(connection))

    async def main() -> T:
        async with open_store(url) as store:
            return await (store.write(transaction) if writes else store.read(transaction))

    return anyio.run(main)


def _all(agents: Agents) -> list[StoredAgent]:
    listed: list[StoredAgent] = []
    while True:
        page = agents.page(after=listed[-1].id if listed else None, limit=_PAGE)
        listed += page
        if len(page) < _PAGE:
            return listed


def _matches(agents: Agents, given: str) -> list[StoredAgent]:
    agent_id = agent_id_in(given)
    found = None if agent_id is None else agents.find(agent_id)
    if found is not None:
        return [found]
    return agents.page(name=given, limit=MATCHES) if can_be_a_name(given) else []


def _document(agent: StoredAgent) -> dict[str, Any]:
    """An agent as JSON, as the HTTP API shows it."""
    import msgspec

    found: dict[str, Any] = msgspec.to_builtins(agent)
    return found
