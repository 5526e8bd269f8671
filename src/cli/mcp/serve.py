"""`caps mcp serve`: Caps as an MCP server, on standard input and output or over HTTP."""

from __future__ import annotations

import logging
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from caps.cli.exits import report_errors
from caps.cli.gc_pause import gc_paused
from caps.cli.input_files import read_input
from caps.cli.options import (
    audit_option,
    audit_settings,
    audit_sink_option,
    policy_option,
    principal_option,
    principal_or_user,
    registry_option,
)
from caps.cli.signals import exit_by_signal
from caps.cli.tool_cards import carded_registry
from caps.protocol.environment import Variable
from caps.protocol.errors import ConfigurationError

if TYPE_CHECKING:
    from caps.capabilities.registry import CapabilityRegistry
    from caps.security.audit import AuditSettings
    from caps.service.mcp_serve import McpSettings
    from caps.store.repositories.agents import StoredAgent

_DEFAULT_PORT = 8090


@click.command()
@click.option(
    "--agent",
    "agent_name",
    metavar="AGENT",
    help="Serve the tools of this agent: the id or the name of a stored one, or a JSON file "
    "(`./agent.json`). Without it, every function that the policy grants.",
)
@policy_option
@click.option("--http", "over_http", is_flag=True, help="Serve streamable HTTP at /mcp.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to serve on.")
@click.option("--port", type=click.IntRange(0, 65535), default=_DEFAULT_PORT, show_default=True)
@click.option(
    "--no-token",
    is_flag=True,
    help="Over HTTP, on loopback: answer without a token. Every program of this host can use it.",
)
@click.option(
    "--allow-host",
    "hosts",
    multiple=True,
    metavar="NAME",
    help="A name under which clients reach it over HTTP, besides those of loopback; repeatable.",
)
@click.option(
    "--allow-origin",
    "origins",
    multiple=True,
    metavar="ORIGIN",
    help="Pages that may use it, such as `https://console.example.org`; repeatable.",
)
@click.option(
    "--tools",
    type=click.Choice(["all", "search", "auto"]),
    default="auto",
    show_default=True,
    help="List all tools, or only those to search for them and to run code; `auto` lists up to 40.",
)
@click.option("--no-code", is_flag=True, help="Do not offer `execute_code`.")
@click.option(
    "--session",
    default=None,
    metavar="NAME",
    help="On standard input and output: the session that calls belong to; by default a new one.",
)
@principal_option
@audit_option
@audit_sink_option
@registry_option
def serve(
    agent_name: str | None,
    policy_paths: tuple[str, ...],
    over_http: bool,
    host: str,
    port: int,
    no_token: bool,
    hosts: tuple[str, ...],
    origins: tuple[str, ...],
    tools: str,
    no_code: bool,
    session: str | None,
    principal: str | None,
    audit_path: Path | None,
    audit_sinks: tuple[str, ...],
    registry_name: str | None,
) -> None:
    """Serve allowed tools to MCP clients, with `execute_code` and `search_capabilities`.

    Without --http it speaks on standard input and output, and ends with its client.
    """
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    with report_errors():
        settings = audit_settings(audit_path, audit_sinks)
        if settings.uses_standard_output and not over_http:
            raise ConfigurationError("standard output is the protocol's; use another audit sink")
        with gc_paused():
            _require_libraries(over_http)
            registry = carded_registry(registry_name, settings)
        if not policy_paths and not Variable.POLICY_PATH.read():
            click.echo("caps: there is no policy, so nothing is granted", err=True)
        who = principal_or_user(principal)
        agent, shown_as = _agent(agent_name, who)
        if over_http:
            from caps.service.mcp_serve import McpSettings

            logging.getLogger().setLevel(logging.INFO)
            _serve_http(
                McpSettings(
                    host=host,
                    port=port,
                    tools=tools,
                    with_code=not no_code,
                    agent=agent,
                    shown_as=shown_as,
                    principal=who if no_token else None,
                    hosts=hosts,
                    origins=origins,
                ),
                policy_paths,
                registry,
                settings,
            )
            return
        received = _serve_pipe(
            _Pipe(tools=tools, with_code=not no_code, session=session, principal=who),
            (agent, shown_as),
            policy_paths,
            registry,
            settings,
        )
    if received is not None:
        exit_by_signal(received)


class _Pipe(msgspec.Struct, frozen=True, kw_only=True):
    """What is served on standard input and output."""

    tools: str
    with_code: bool
    session: str | None
    principal: str


def _require_libraries(over_http: bool) -> None:
    try:
        import mcp  # noqa: F401
    except ImportError as error:
        raise ConfigurationError(
            "MCP needs the extra `mcp`; install `caps-runtime[mcp]`"
        ) from error
    if over_http:
        try:
            import caps.service.mcp_serve  # noqa: F401 - loads all that the extra has
        except ImportError as error:
            raise ConfigurationError(
                "MCP over HTTP needs the extra `service`; install `caps-runtime[mcp,service]`"
            ) from error


def _agent(name: str | None, who: str) -> tuple[StoredAgent | None, str | None]:
    """The agent, and its name if it is in no store. Raises ConfigurationError."""
    if name is None:
        return None, None
    from caps.store.open_store import require_libraries

    require_libraries()
    from caps.agents.definition import MAX_DEFINITION_BYTES, new_agent, read_definition
    from caps.agents.mcp_callers import find_agent

    if "/" in name or name.endswith(".json"):
        definition = read_definition(read_input(name, MAX_DEFINITION_BYTES))
        agent = new_agent(**msgspec.structs.asdict(definition), created_by=who)
        return agent, agent.name
    import anyio

    from caps.store import open_store

    async def find() -> StoredAgent:
        async with open_store() as store:
            return await find_agent(store, name)

    return anyio.run(find), None


def _serve_http(
    settings: McpSettings,
    policy_paths: tuple[str, ...],
    registry: CapabilityRegistry,
    audit: AuditSettings,
) -> None:
    import anyio

    from caps.service.mcp_serve import serve_mcp

    def announce(address: str, is_development: bool) -> None:
        if settings.principal is not None:
            click.echo(
                "caps: no token is needed, so every program of this host may use it", err=True
            )
        elif is_development:
            click.echo("caps: there is no secret, so only loopback is served", err=True)
            click.echo("caps: `caps token` makes a token for development", err=True)
        click.echo(f"caps: serving on {address}", err=True)

    async def main() -> None:
        await serve_mcp(
            settings,
            policy=policy_paths or None,
            registry=registry,
            audit=audit,
            on_ready=announce,
        )

    anyio.run(main)


def _serve_pipe(
    pipe: _Pipe,
    agent: tuple[StoredAgent | None, str | None],
    policy_paths: tuple[str, ...],
    registry: CapabilityRegistry,
    audit: AuditSettings,
) -> signal.Signals | None:
    """Serve until standard input ends, or a signal, which is returned."""
    import anyio

    from caps.capabilities.identity import new_id
    from caps.capabilities.runtime.runtime import Runtime
    from caps.mcp.server.caller import Caller
    from caps.mcp.server.server import CapsServer
    from caps.mcp.server.stdio import claimed_streams, serve_stdio

    async def caller_of(runtime: Runtime) -> Caller:
        session = pipe.session or f"mcp-{new_id()}"
        if agent[0] is None:
            return Caller(principal=pipe.principal, session=session)
        from caps.agents.mcp_callers import Callers

        return await Callers(runtime).caller(
            agent[0], principal=pipe.principal, session=session, shown_as=agent[1]
        )

    async def main(source: int, target: int) -> signal.Signals | None:
        async with Runtime(policy_paths or None, registry=registry, audit=audit) as runtime:
            caller = await caller_of(runtime)
            server = CapsServer(
                runtime,
                lambda _: caller,
                transport="pipe",
                tools=pipe.tools,
                with_code=pipe.with_code,
            )
            return await serve_stdio(server, source, target)

    # Before anything is opened: no child inherits the protocol's descriptors.
    with claimed_streams() as (source, target):
        return anyio.run(main, source, target)
