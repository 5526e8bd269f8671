"""`caps agents` on a service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from caps.cli.agents.matches import MATCHES, agent_id_in, can_be_a_name, only_one
from caps.cli.remote.server import Server, remote_client

if TYPE_CHECKING:
    from caps.agents.definition import AgentDefinition
    from caps.client import Client
    from caps.client.values import Agent


class RemoteAgents:
    """The agents of a service: an `AgentPlace`. Raises ClientError."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def create(self, defined: AgentDefinition) -> dict[str, Any]:
        import msgspec

        with remote_client(self._server) as client:
            return _document(client.create_agent(**msgspec.structs.asdict(defined)))

    def listed(self) -> list[dict[str, Any]]:
        with remote_client(self._server) as client:
            return [_document(each) for each in client.agents(limit=200)]

    def find(self, given: str) -> dict[str, Any]:
        with remote_client(self._server) as client:
            return _document(only_one(_matches(client, given), given))

    def tools(self, agent: dict[str, Any]) -> tuple[list[dict[str, Any]], list[str]]:
        """Those that the policies of the service allow; a warning names the others."""
        with remote_client(self._server) as client:
            effective = client.get_effective_agent(agent["id"])
        warnings = list(effective.warnings)
        if effective.withheld:
            names = ", ".join(f"`{each}`" for each in effective.withheld)
            warnings.append(f"the policy does not allow the tools {names}")
        return [
            {"key": each.get("key"), "function": each.get("function")} for each in effective.tools
        ], warnings

    def delete(self, agent: dict[str, Any]) -> None:
        with remote_client(self._server) as client:
            client.delete_agent(agent["id"])


def _matches(client: Client, given: str) -> list[Agent]:
    from caps.client import NotFoundError

    agent_id = agent_id_in(given)
    if agent_id is not None:
        try:
            return [client.get_agent(str(agent_id))]
        except NotFoundError:
            pass  # it may be a name
    if not can_be_a_name(given):
        return []
    return list(client.list_agents(name=given, limit=MATCHES).items)


def _document(agent: Agent) -> dict[str, Any]:
    import msgspec

    document: dict[str, Any] = msgspec.to_builtins(agent)
    del document["etag"]
    return document
