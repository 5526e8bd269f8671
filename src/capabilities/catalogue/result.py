"""What an agent's capabilities amount to: tools, MCP servers, text for the prompt, and a policy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from caps.capabilities.catalogue.capability import McpServerConfig
from caps.security.policy import SecurityPolicy


class ResolvedTool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool as the agent gets it; `key` has the prefix that the agent's object sets."""

    key: str
    name: str
    description: str
    capability: str
    function: str
    """The function behind it. One that is not registered is a tool of the MCP server alone."""
    schema: Mapping[str, Any] | None
    """The JSON Schema of its arguments; None: only the MCP server knows it."""


class ResolvedCapabilities(msgspec.Struct, frozen=True, kw_only=True):
    """The whole of it. Everything is in the agent's order; what the mode injects comes last."""

    tools: tuple[ResolvedTool, ...]
    mcp_servers: Mapping[str, McpServerConfig]
    """By the key of their capability."""
    prompt_additions: tuple[str, ...]
    policy: SecurityPolicy
    """Allows the functions of the tools, under the scopes of the settings, and nothing else."""
    versions: Mapping[str, str]
    """The version of each capability that was resolved, by its key."""
    skipped: tuple[str, ...] = ()
    """Capabilities whose resolver declined, and those that depend on them."""
    warnings: tuple[str, ...] = ()

    def runtime_agent(self, system_prompt: str) -> RuntimeAgent:
        """The configured agent: its own prompt after the additions of its capabilities."""
        prompts = (*self.prompt_additions, system_prompt)
        return RuntimeAgent(
            system_prompt="\n\n".join(text for text in prompts if text),
            tools=self.tools,
            mcp_servers=self.mcp_servers,
            policy=self.policy,
        )


class RuntimeAgent(msgspec.Struct, frozen=True, kw_only=True):
    """An agent that is ready to run: merged prompt, merged tools, and the policy they need."""

    system_prompt: str
    tools: tuple[ResolvedTool, ...]
    mcp_servers: Mapping[str, McpServerConfig]
    policy: SecurityPolicy
