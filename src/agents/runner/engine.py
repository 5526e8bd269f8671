"""What lets a model talk: an engine gets a prompt and tools, and returns the model's answer.

An engine calls `call_tool` for each tool call of the model, and gives the model the text of the
answer, whether it failed or not. It never raises for a tool that failed. It makes no MCP server and
no provider: what it is told of MCP servers is data about where tools come from.
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import msgspec

from caps.agents.runner.model import RunLimits, TokensUsed
from caps.capabilities.catalogue.capability import McpServerConfig
from caps.store.repositories.threads import NewMessage


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool as the model sees it."""

    name: str
    description: str
    schema: Mapping[str, Any]
    """The JSON Schema of its arguments. The broker checks them; the model may get them wrong."""
    sequential: bool = False
    """Its calls do not overlap with other calls."""


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """What the model asks for. Nothing of it is trusted."""

    id: str
    name: str
    arguments: Any


class ToolAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The text for the model; with `ok` False it says what went wrong."""

    text: str
    ok: bool


class StopReason(enum.Enum):
    """Why the conversation with the model ended."""

    ANSWERED = "answered"
    TURNS = "turns"
    TOKENS = "tokens"


CallTool = Callable[[ToolCall], Awaitable[ToolAnswer]]


class EngineRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One conversation to continue."""

    system_prompt: str
    history: Sequence[NewMessage]
    """Earlier messages. A tool call is followed by its result."""
    message: str
    tools: Sequence[Tool]
    mcp_servers: Mapping[str, McpServerConfig]
    limits: RunLimits


class EngineOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What the model answered, and what it took."""

    answer: str
    stop: StopReason = StopReason.ANSWERED
    turns: int = 0
    tokens: TokensUsed = TokensUsed()


class Engine(ABC):
    """A way to talk to a model."""

    @abstractmethod
    async def run(self, request: EngineRequest, call_tool: CallTool) -> EngineOutcome:
        """Ask the model, call its tools, and go on until it answers or a limit is reached.

        Raises EngineError if the model fails, and ConfigurationError if it cannot be used at all.
        """
