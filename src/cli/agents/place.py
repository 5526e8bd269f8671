"""Where `caps agents` keeps agents: in the store of this host, or in a service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from caps.cli.remote.server import chosen_server, refuse_local_options

if TYPE_CHECKING:
    from caps.agents.definition import AgentDefinition

Document = dict[str, Any]


class AgentPlace(Protocol):
    """Agents are documents here, with the fields that the HTTP API shows. Raises CapsErrors."""

    def create(self, defined: AgentDefinition) -> Document:
        """Keep a new agent, once its capabilities and its policy fit the registry."""
        ...

    def listed(self) -> list[Document]:
        """All agents, oldest first."""
        ...

    def find(self, given: str) -> Document:
        """The agent of this id, or the only one of this name; ends the command if there is none."""
        ...

    def tools(self, agent: Document) -> tuple[list[Document], list[str]]:
        """The tools that its capabilities amount to, by key and function; and warnings."""
        ...

    def delete(self, agent: Document) -> None: ...


def agent_place(
    url: str | None, *, registry_name: str | None = None, principal: str | None = None
) -> AgentPlace:
    """The service that the command goes to, else the store.

    Ends the command if an option is given that means nothing to a service.
    """
    server = chosen_server()
    if server is None:
        from caps.cli.agents.stored import StoredAgents

        return StoredAgents(url, registry_name, principal)
    from caps.cli.remote.agents import RemoteAgents

    refuse_local_options("principal", "registry_name", "url")
    return RemoteAgents(server)
