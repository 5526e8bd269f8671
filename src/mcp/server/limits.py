"""All limits of an MCP server. Those of calls and code are in the policy."""

from __future__ import annotations

from typing import Final

import msgspec

TOOL_MODES: Final = ("all", "search", "auto")


class ServerLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What a client may send, and how much it is given at once."""

    message_bytes: int = 8 * 1024 * 1024
    """Of one JSON-RPC message, and of the body of an HTTP request."""
    requests: int = 64
    """Of one session, under way at the same time; one more is refused."""
    unanswered: int = 256
    """Of a pipe: answers that the client has not read yet; then nothing more is read from it."""
    page: int = 100
    """Entries of a list that are sent at once."""
    directories: int = 50
    """Directories that are read for one page of resources."""
    listed_tools: int = 40
    """With `auto`, more tools than this are found by searching, and not listed."""
    stub_characters: int = 24_000
    """Longer stubs are not in the description of `execute_code`; they are found by searching."""
    found: int = 20
    """Functions that one search gives at most."""
    output_characters: int = 65_536
    """Of what code prints, in the structured result."""
    http_sessions: int = 1000
    idle_seconds: float = 1800.0
    """After which a session over HTTP ends."""
