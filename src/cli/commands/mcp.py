"""`caps mcp`: external MCP servers and their accepted tools; `serve` is in `mcp_serve`."""

from __future__ import annotations

import importlib

import click

# Loaded when they are called: the server needs the extra `mcp`.
_LAZY = {"serve": ("caps.cli.commands.mcp_serve", "serve")}


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
