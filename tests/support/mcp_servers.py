"""External MCP servers in tests: configurations, pins, and calls without a worker."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from caps.capabilities.provider import CallContext
from caps.mcp.bridge_messages import ListedTool
from caps.mcp.client.config import McpServer, servers_of
from caps.mcp.client.pins import Pin, make_pin
from support import hostile_mcp_server

HOSTILE = Path(hostile_mcp_server.__file__)
HOSTILE_TOOL = ListedTool(
    name="work",
    description="Do some work.",
    input_schema=hostile_mcp_server.TOOL["inputSchema"],
)


def server(key: str = "hostile", **config: Any) -> McpServer:
    """One server of this configuration."""
    return servers_of({"mcpServers": {key: config}})[0]


def hostile(mode: str, *arguments: str, key: str = "hostile", **config: Any) -> McpServer:
    """The hostile server in one of its modes."""
    command = {"command": sys.executable, "args": ["-I", "-S", str(HOSTILE), mode, *arguments]}
    return server(key, **{**command, "protocol": "legacy", **config})


def pinned(configured: McpServer, *tools: ListedTool) -> Pin:
    """What an operator would have accepted."""
    return make_pin(configured, tools or (HOSTILE_TOOL,), "hostile", "1")


def context(principal: str = "alice", agent: str | None = "agent") -> CallContext:
    """The context of a call, as far as servers look at it."""
    return CallContext(
        execution_id="e" * 32,
        request_id="1",
        capability="hostile.work",
        principal=principal,
        agent=agent,
        session=None,
        scope=None,
        timeout_ms=30_000,
    )


def plain_text(value: Mapping[str, Any]) -> str:
    return str(value["text"])
