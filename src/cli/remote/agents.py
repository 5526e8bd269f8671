"""`caps agents` on a service. Agents are documents here, as the service has them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from caps.cli.remote.server import Server, remote_client


class RemoteAgents:
    """The agents of a service. Raises ClientError."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def create(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Keep an agent: `name`, and what else it has."""
        with remote_client(self._server) as client:
            return _document(client.create_agent(**fields))

    def list(self) -> Iterator[dict[str, Any]]:
        """All agents, oldest first."""
        with remote_client(self._server) as client:
            for each in client.agents(limit=200):
                yield _document(each)

    def find(self, agent_id: str) -> dict[str, Any]:
        with remote_client(self._server) as client:
            return _document(client.get_agent(agent_id))

    def delete(self, agent_id: str) -> None:
        with remote_client(self._server) as client:
            client.delete_agent(agent_id)


def _document(agent: Any) -> dict[str, Any]:
    document: dict[str, Any] = msgspec.to_builtins(agent)
    del document["etag"]
    return document
