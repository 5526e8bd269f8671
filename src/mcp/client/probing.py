"""Starting a server once, to see what it offers: for `caps mcp accept` and `caps mcp check`."""

from __future__ import annotations

import anyio
import anyio.to_thread
import msgspec

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
        async with anyio.create_task_group() as tasks:
            opening = OpenServer(
                url=server.config.url,
                headers=environment.headers,
                legacy=server.config.protocol == "legacy",
            )
            connection = await connect(server, opening, environment.variables, tasks)
            try:
                await check_bridge(connection)
                tools = await listed_tools(connection)
            finally:
                await connection.end("it was only asked for its tools")
            opened = connection.opened
            assert opened is not None
            return Offer(
                name=opened.name,
                version=opened.version,
                protocol=opened.protocol,
                tools=tuple(tools),
            )
    except* ProviderError as group:
        first: BaseException = group
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]
        assert isinstance(first, ProviderError)
        raise ProviderError(f"the MCP server `{server.key}`: {first.message}") from None
