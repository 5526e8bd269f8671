"""Starting a server once, to see what it offers: for `caps mcp accept` and `caps mcp check`."""

from __future__ import annotations

import anyio
import anyio.to_thread
import msgspec
from anyio.abc import TaskGroup

from caps.mcp.bridge_messages import ListedTool, OpenServer
from caps.mcp.client.config import McpServer
from caps.mcp.client.connection import connect
from caps.mcp.client.environment import read_environment
from caps.mcp.client.servers import check_bridge, listed_tools
from caps.protocol.errors import ProviderError


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """What a server offers now."""

    name: str
    version: str
    protocol: str
    tools: tuple[ListedTool, ...]


async def probe(server: McpServer) -> Offer:
    """Start the server, list its tools, and stop it. Raises ProviderError."""
    try:
        environment = await anyio.to_thread.run_sync(read_environment, server)
        opening = OpenServer(
            url=server.config.url,
            headers=environment.headers,
            legacy=server.config.protocol == "legacy",
        )
        async with anyio.create_task_group() as tasks:
            offer = await _offer(server, opening, environment.variables, tasks)
    except ProviderError as error:
        raise _named(server, error) from None
    except ExceptionGroup as group:
        found, others = group.split(ProviderError)
        if others is not None or found is None:
            raise
        raise _named(server, _first(found)) from None
    return offer


async def _offer(
    server: McpServer, opening: OpenServer, variables: dict[str, str], tasks: TaskGroup
) -> Offer:
    connection = await connect(server, opening, variables, tasks)
    try:
        await check_bridge(connection)
        tools = await listed_tools(connection)
    finally:
        await connection.end("it was only asked for its tools")
    opened = connection.opened
    assert opened is not None
    return Offer(
        name=opened.name, version=opened.version, protocol=opened.protocol, tools=tuple(tools)
    )


def _first(group: ExceptionGroup[ProviderError]) -> ProviderError:
    first = group.exceptions[0]
    return _first(first) if isinstance(first, ExceptionGroup) else first


def _named(server: McpServer, error: ProviderError) -> ProviderError:
    return ProviderError(f"the MCP server `{server.key}`: {error.message}")
