"""`caps capabilities`: what agents can be given, as the catalogue of spec 004 lists it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from caps.cli.exits import ExitCode, fail, report_errors
from caps.cli.options import json_option, load_registry, registry_option
from caps.protocol.text import did_you_mean, escape_unprintable, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from caps.capabilities.catalogue.declaration import CapabilityDescriptor


@click.command()
@click.argument("key", required=False)
@registry_option
@json_option
def capabilities(key: str | None, registry_name: str | None, as_json: bool) -> None:
    """List what agents can be given: each capability with its status, category, icon and tools.

    With KEY, show one capability: its tools and the functions behind them, its prompt and its
    settings. `caps functions` lists what code can call.
    """
    from caps.capabilities.catalogue.declaration import listing

    with report_errors():
        found = load_registry(registry_name).known_capabilities()
    if key is not None:
        _show_one(key, found, as_json)
    elif as_json:
        click.echo(json.dumps(listing(found)))
    else:
        _print_table(found)


def _print_table(found: Sequence[CapabilityDescriptor]) -> None:
    from rich.table import Table
    from rich.text import Text

    from caps.cli.render.console import Console

    table = Table(box=None, pad_edge=False)
    for column in ("capability", "status", "category", "icon", "tools"):
        table.add_column(column, no_wrap=column == "capability")
    for each in found:
        tools = ", ".join(tool.key for tool in each.tools)
        cells = (each.key, each.status, each.category or "", each.icon or "", tools)
        table.add_row(*(Text(escape_unprintable(cell)) for cell in cells))
    Console().print(table)


def _show_one(key: str, found: Sequence[CapabilityDescriptor], as_json: bool) -> None:
    by_key = {each.key: each for each in found}
    if key not in by_key:
        hint = did_you_mean(key, by_key)
        fail(f"there is no capability `{printable(key)}`{hint}", ExitCode.BAD_USAGE)
    document = by_key[key].as_document()
    if as_json:
        click.echo(json.dumps(document))
        return
    for name, value in document.items():
        if value not in (None, "", [], (), {}):
            _print_field(name, value)


def _print_field(name: str, value: Any) -> None:
    if name == "tools":
        click.echo("tools:")
        for tool in value:
            click.echo(f"  {tool['key']} ({tool['function']}): {tool['description']}")
    elif name == "config_schema":
        click.echo("settings:")
        for setting, schema in value["properties"].items():
            click.echo(f"  {setting}: {schema.get('description', '')}")
    elif name == "system_prompt":
        click.echo("system_prompt:")
        click.echo("\n".join(f"  {line}" for line in value.rstrip().split("\n")))
    else:
        click.echo(f"{name}: {', '.join(value) if isinstance(value, list | tuple) else value}")
