"""Who an MCP server answers: from the command line or the token, never from a message."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from mcp.server.context import ServerRequestContext

from caps.capabilities.broker.flow import FlowState
from caps.capabilities.catalogue.result import ResolvedTool
from caps.capabilities.grant import BoundPolicy

Context = ServerRequestContext[Any, Any]
_FLOW: Final = "caps.flow"


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """A principal, what it acts as, and the session that its calls belong to."""

    principal: str
    agent: str | None = None
    session: str
    policies: tuple[BoundPolicy, ...] = ()
    """Beneath those of the runtime: each must allow."""
    tools: tuple[ResolvedTool, ...] | None = None
    """Those of the agent; None: every function that the policies grant."""
    instructions: str = ""
    """The agent's prompt."""
    flow: FlowState | None = None
    """What the session was answered, if the runtime does not keep it: the server holds it for as
    long as the connection of the session lives."""


def hold_flow(caller: Caller, context: Context) -> None:
    """Let the connection hold what its session was answered: the two end together."""
    if caller.flow is not None:
        # The SDK has a place for what belongs to a connection, and gives handlers no way to it.
        context.session._connection.state[_FLOW] = caller.flow  # noqa: SLF001


CallerOf = Callable[[Context], Caller]
"""Who sends a request."""


def session_of(principal: str, agent: str | None, policy: Mapping[str, Any] | None) -> str:
    """The session of a caller, for a protocol version without sessions.

    It follows from what a token says, and from no spelling of it. A client cannot choose it, so it
    cannot leave behind what the flow rules know of it.
    """
    parts = msgspec.json.encode([principal, agent, policy], order="deterministic")
    return f"mcp-{hashlib.sha256(parts).hexdigest()[:32]}"
