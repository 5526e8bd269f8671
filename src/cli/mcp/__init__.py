"""`caps mcp`: external MCP servers and their accepted tools; `serve` is in `serve.py`."""

from __future__ import annotations

import importlib
import json
import sys
from typing import TYPE_CHECKING, Any

import click

from caps.cli.exits import ExitCode, fail, report_errors
from caps.cli.options import json_option, store_option
from caps.protocol.environment import Variable
from caps.protocol.text import did_you_mean, printable

if TYPE_CHECKING:
    from caps.agents.tool_cards.administration import CardAdministration
    from caps.mcp.client.config import McpServer
    from caps.mcp.client.pins import Drift, Pin
    from caps.mcp.client.probing import Offer
    from caps.mcp.client.registering import AcceptedTool

# Loaded when they are called: the server needs the extra `mcp`.
_LAZY = {"serve": ("caps.cli.mcp.serve", "serve")}


class _McpGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *_LAZY})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _LAZY:
            return super().get_command(ctx, cmd_name)
        module, name = _LAZY[cmd_name]
        command: click.Command = getattr(importlib.import_module(module), name)
        return command


@click.group(cls=_McpGroup)
def mcp() -> None:
    """Use external MCP servers, and serve as one."""


@mcp.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the configured MCP servers. Starts nothing."""
    with report_errors():
        rows = [_row(server, pin) for server, pin in _pinned(None)]
    if as_json:
        click.echo(json.dumps(rows))
    elif not rows:
        click.echo(f"there are no MCP servers; {Variable.MCP_SERVERS.key} names the file of them")
    for row in () if as_json else rows:
        line = f"{row['key']}  {row['status']}  {row['tools']} tools  {row['target']}"
        click.echo(printable(line, 400))


@mcp.command()
@click.argument("key", required=False)
@json_option
def tools(key: str | None, as_json: bool) -> None:
    """List the accepted tools of KEY, or of all MCP servers. Starts nothing."""
    from caps.mcp.client.registering import accepted_tools

    with report_errors():
        found = [
            (server, tool)
            for server, pin in _pinned(key)
            if pin is not None
            for tool in accepted_tools(server, pin)
        ]
    if as_json:
        click.echo(json.dumps([_tool_row(server, tool) for server, tool in found]))
    elif not found:
        click.echo("there are no accepted tools; `caps mcp accept KEY` accepts those of a server")
    for server, tool in () if as_json else found:
        click.echo(printable(_tool_line(server, tool), 400))


@mcp.command()
@click.argument("key")
@store_option
@json_option
def accept(key: str, url: str | None, as_json: bool) -> None:
    """Start the MCP server KEY and accept the tools that it offers now.

    Shows what has changed. If tool cards are required (CAPS_CAPABILITY_CARDS), those of the tools
    are published, too. A running service offers them after a restart.
    """
    from caps.mcp.client.pins import PinStore, make_pin
    from caps.mcp.client.registering import accepted_tools

    with report_errors():
        server, before = _pinned(key)[0]
        offer = _offer(server)
        pin = make_pin(server, offer.tools, offer.name, offer.version)
        found = accepted_tools(server, pin)
        drift = _drift(before, offer)
        _publish_cards(found, pin, url)
        PinStore().write(pin)
    refused = [each for each in found if each.spec is None]
    if as_json:
        rows = [_tool_row(server, each) for each in found]
        click.echo(json.dumps({"key": key, "drift": _drift_row(drift), "tools": rows}))
        return
    if before is not None and drift:
        click.echo(printable(f"{drift}", 1000))
    fresh = {*drift.added, *drift.changed}
    for each in found:
        if each.spec is None or each.tool.name in fresh:
            click.echo(printable(_tool_line(server, each), 400))
    click.echo(f"{len(found) - len(refused)} of {len(found)} tools of `{key}` are accepted")


@mcp.command()
@click.argument("key", required=False)
@json_option
def check(key: str | None, as_json: bool) -> None:
    """Start the MCP server KEY, or all of them, and compare what it offers with what was accepted.

    Ends with 7 if a server cannot be started, or offers other tools.
    """
    from caps.protocol.errors import ProviderError

    rows = []
    with report_errors():
        for server, pin in _pinned(key):
            try:
                rows.append(_checked(server, pin, _offer(server)))
            except ProviderError as error:
                rows.append({"key": server.key, "ok": False, "problem": error.message})
    if as_json:
        click.echo(json.dumps(rows))
    for row in () if as_json else rows:
        what = "offers what was accepted" if row["ok"] else row["problem"]
        click.echo(printable(f"{row['key']}  {what}", 1000))
    sys.exit(ExitCode.OK if all(row["ok"] for row in rows) else ExitCode.FOUND)


def _pinned(key: str | None) -> list[tuple[McpServer, Pin | None]]:
    """The servers with what was accepted of them. Ends the command if there is no server `key`."""
    from caps.mcp.client.config import load_servers
    from caps.mcp.client.pins import PinStore

    servers, pins = load_servers(), PinStore()
    found = [server for server in servers if key in (None, server.key)]
    if key is not None and not found:
        known = [server.key for server in servers]
        hint = did_you_mean(key, known) or f"; {Variable.MCP_SERVERS.key} names the file of them"
        fail(f"there is no MCP server `{printable(key, 80)}`{hint}", ExitCode.BAD_USAGE)
    return [(server, pins.read(server.key)) for server in found]


def _offer(server: McpServer) -> Offer:
    import anyio

    from caps.mcp.client.probing import probe

    return anyio.run(probe, server)


def _drift(pin: Pin | None, offer: Offer) -> Drift:
    from caps.mcp.client.pins import digests_of, drift_of

    return drift_of({} if pin is None else pin.digests, digests_of(offer.tools))


def _checked(server: McpServer, pin: Pin | None, offer: Offer) -> dict[str, Any]:
    drift = _drift(pin, offer)
    if pin is None:
        problem = f"nothing is accepted yet; run `caps mcp accept {server.key}`"
    elif pin.launch != server.config.digest:
        problem = f"its configuration has changed; run `caps mcp accept {server.key}`"
    else:
        problem = str(drift)
    return {
        "key": server.key,
        "ok": not problem,
        "problem": problem,
        "server": offer.name,
        "version": offer.version,
        "protocol": offer.protocol,
        "drift": _drift_row(drift),
    }


def _publish_cards(found: list[AcceptedTool], pin: Pin, url: str | None) -> None:
    """Publish the tool cards of the accepted tools, if functions need cards."""
    if Variable.CAPABILITY_CARDS.read() in ("", "off"):
        return
    import msgspec

    from caps.agents.tool_cards.card import card_of
    from caps.agents.tool_cards.startup import card_for
    from caps.cli.tool_cards import administer_tool_cards
    from caps.mcp.client.pins import tool_digest

    given = [
        card_of(
            msgspec.structs.asdict(
                card_for(each.spec, f"{pin.digest[:8]}-{tool_digest(each.tool)[:16]}")
            )
        )
        for each in found
        if each.spec is not None
    ]

    async def publish(cards: CardAdministration) -> None:
        for card in given:
            await cards.publish(card)

    administer_tool_cards(url, publish)


def _row(server: McpServer, pin: Pin | None) -> dict[str, Any]:
    config = server.config
    if pin is None:
        status = "not accepted"
    elif pin.launch != config.digest:
        status = "configuration changed"
    else:
        status = "accepted"
    return {
        "key": server.key,
        "status": status,
        "target": config.url or " ".join((config.command or "", *config.args)),
        "tools": 0 if pin is None else len(pin.tools),
        "accepted_at": None if pin is None else pin.accepted_at,
        "confined": config.confine is not None,
    }


def _tool_row(server: McpServer, each: AcceptedTool) -> dict[str, Any]:
    return {
        "server": server.key,
        "tool": each.tool.name,
        "function": None if each.spec is None else each.spec.name,
        "description": each.tool.description,
        "problem": each.problem or None,
    }


def _tool_line(server: McpServer, each: AcceptedTool) -> str:
    if each.spec is None:
        return f"{server.key}  the tool `{each.tool.name}` is refused: {each.problem}"
    summary = each.tool.description.partition("\n")[0]
    return f"{each.spec.name}  {summary}"


def _drift_row(drift: Drift) -> dict[str, list[str]]:
    return {
        "added": list(drift.added),
        "removed": list(drift.removed),
        "changed": list(drift.changed),
    }
