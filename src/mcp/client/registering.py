"""(2) External MCP servers in a registry: their accepted tools as functions, and a capability each.

Starts nothing. A server without an accepted list of tools is known, and no agent can be given it;
the error says what the operator has to do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import msgspec

from caps.capabilities.catalogue.capability import (
    Capability,
    CapabilityConfig,
    ResolvedCapability,
    ResolvedConfig,
    Resolver,
    ToolDescriptor,
)
from caps.capabilities.catalogue.context import ResolverContext
from caps.capabilities.progress import progress_of
from caps.capabilities.provider import CallContext, Provider
from caps.capabilities.registry import CapabilityRegistry
from caps.capabilities.spec import CapabilitySpec
from caps.mcp.bridge_messages import ListedTool, Progress
from caps.mcp.client.config import Launch, McpServer, load_servers
from caps.mcp.client.names import check_collisions, function_name, tool_key
from caps.mcp.client.pins import Pin, PinStore
from caps.mcp.client.servers import open_servers
from caps.mcp.client.tool_schema import input_schema, output_schema
from caps.protocol.errors import AgentInvalidError, RegistrationError
from caps.protocol.text import did_you_mean, printable

# A model reads it with every request; a tool card takes no more, either.
MAX_DESCRIPTION_CHARACTERS: Final = 8192


class McpSettings(CapabilityConfig):
    """What an agent may say about a server: how it is reached, exactly as the operator says it."""

    mcp: Launch | None = None


class AcceptedTool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that is offered as a function, or why it is not."""

    tool: ListedTool
    spec: CapabilitySpec | None
    problem: str = ""


def register_mcp_servers(
    registry: CapabilityRegistry,
    servers: Sequence[McpServer] | None = None,
    pins: PinStore | None = None,
) -> None:
    """Register the accepted tools of all servers, by default those of CAPS_MCP_SERVERS.

    Raises ConfigurationError and RegistrationError.
    """
    servers = load_servers() if servers is None else servers
    if not servers:
        return
    pins = PinStore() if pins is None else pins
    for server in servers:
        with registry.all_or_nothing():
            _register(registry, server, pins.read(server.key))


def _register(registry: CapabilityRegistry, server: McpServer, pin: Pin | None) -> None:
    config = server.config
    title = config.name or server.key
    if server.domain in registry.domains:
        raise RegistrationError(
            f"the MCP server `{server.key}` has the name of the domain `{server.domain}`, which "
            "exists already; give it another key"
        )
    registry.domain(server.domain, title=title, description=config.description)
    if pin is None or pin.launch != config.digest:
        what = "has no accepted tools" if pin is None else "was configured differently before"
        registry.withhold(server.key, f"the MCP server {what}; run `caps mcp accept {server.key}`")
        return
    tools = []
    for each in accepted_tools(server, pin):
        if each.spec is not None:
            name = each.tool.name
            registry.register(each.spec, _provider(server, pin, name))
            shown = each.tool.title or name
            key = tool_key(name)
            tools.append(ToolDescriptor(key, shown, each.tool.description, each.spec.name))
    registry.register(
        Capability(
            server.key,
            name=title,
            description=config.description or f"Tools of the MCP server {pin.server}.",
            category="MCP",
            version=pin.digest[:16],
            system_prompt=config.system_prompt,
            tools=tools,
            config_model=McpSettings,
            resolver=_resolver(server),
        )
    )


def accepted_tools(server: McpServer, pin: Pin) -> list[AcceptedTool]:
    """The tools of a pin that the configuration lists. Raises RegistrationError for collisions."""
    wanted = server.config.tools
    names = [tool.name for tool in pin.tools]
    for name in () if wanted is None else wanted:
        if name not in names:
            hint = did_you_mean(name, names)
            raise RegistrationError(
                f"the MCP server `{server.key}` has no tool `{printable(name, 80)}`{hint}"
            )
    offered = [tool for tool in pin.tools if wanted is None or tool.name in wanted]
    found = [_accepted(server, tool) for tool in offered]
    check_collisions(each.tool.name for each in found if each.spec is not None)
    return found


def _accepted(server: McpServer, tool: ListedTool) -> AcceptedTool:
    config = server.config
    if len(tool.description) > MAX_DESCRIPTION_CHARACTERS:
        what = f"its description is longer than {MAX_DESCRIPTION_CHARACTERS} characters"
        return AcceptedTool(tool=tool, spec=None, problem=what)
    try:
        spec = CapabilitySpec(
            name=f"{server.domain}.{function_name(tool.name)}",
            schema_in=input_schema(tool.input_schema),
            schema_out=output_schema(tool.output_schema),
            tags=frozenset({"mcp"}),
            title=tool.title or tool.name,
            description=tool.description,
            labels=config.labels,
            egress=config.egress,
            timeout_ms=config.timeout_ms,
            inline=False,
        )
    except RegistrationError as error:
        return AcceptedTool(tool=tool, spec=None, problem=error.message)
    return AcceptedTool(tool=tool, spec=spec)


def _provider(server: McpServer, pin: Pin, tool: str) -> Provider:
    async def provider(context: CallContext, payload: Mapping[str, Any]) -> dict[str, Any]:
        # The text of an error comes from the server as well.
        context.add_labels(*server.config.labels)
        servers = await context.resource(open_servers)
        report = progress_of(context.capability)

        def on_progress(told: Progress) -> None:
            with suppress(ValueError):  # a server may well send what is not a finite number
                report(told.progress, told.total, told.message or None)

        return await servers.call(context, pin, server, tool, payload, on_progress)

    return provider


def _resolver(server: McpServer) -> Resolver:
    def resolve(_ctx: ResolverContext, config: ResolvedConfig) -> ResolvedCapability:
        given = config.settings_as(McpSettings).mcp
        if given is not None and given.target != server.config.target:
            place = f"capabilities.{server.key}.mcp"
            raise AgentInvalidError(
                f"capability `{server.key}`: this is not how the operator configured the MCP "
                f"server at `{place}`; leave `mcp` out",
                place=place,
            )
        # Its tools are functions of the registry. An engine that reached the server by itself would
        # go around policy and audit, so it is not told how.
        return ResolvedCapability()

    return resolve
