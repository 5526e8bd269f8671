"""The MCP server of the benchmark: one tool, over stdio."""

from __future__ import annotations

import logging

from mcp.server import MCPServer

server = MCPServer("bench")


@server.tool()
def add(a: int, b: int) -> dict[str, int]:
    """Add two numbers."""
    return {"result": a + b}


if __name__ == "__main__":
    logging.disable(logging.INFO)  # the time would include a log line for each request
    server.run("stdio")
