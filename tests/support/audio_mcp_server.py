"""A real MCP server of the SDK, in a process of its own: speech to text and back.

It reports progress, and says there the token that it was given, as a careless server would.
"""

from __future__ import annotations

import os

import anyio
from mcp.server import MCPServer
from mcp.server.mcpserver import Context

server = MCPServer("audio")
TOKEN = os.environ.get("AUDIO_TOKEN", "none")
# Its bridge passes on one report in this time, and the tests wait for the last one.
_BETWEEN_REPORTS = 0.1


@server.tool()
async def transcribe(path: str, ctx: Context) -> str:
    """Turn speech into text."""
    for done in (1, 2, 3):
        await ctx.report_progress(done, 3, f"part {done} with {TOKEN}")
        await anyio.sleep(_BETWEEN_REPORTS)
    return f"text of {path}"


@server.tool()
async def synthesize(text: str) -> str:
    """Turn text into speech."""
    return f"speech of {text}"


if __name__ == "__main__":
    server.run()
