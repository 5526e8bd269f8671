"""`caps capabilities`: the registered functions and which of them a policy grants; the bundles."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from caps.cli.exits import report_errors
from caps.cli.options import json_option, load_registry, policy_option, registry_option
from caps.protocol.environment import Variable
from caps.protocol.text import escape_unprintable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from caps.capabilities.catalogue.declaration import CapabilityDescriptor
    from caps.capabilities.grant import BoundPolicy
    from caps.capabilities.registry import CapabilityRegistry


@click.command()
@policy_option
@registry_option
@json_option
@click.option(
    "--stubs",
    "as_stubs",
    is_flag=True,
    help="Print what the policy grants as the text of a .pyi file, made for a prompt.",
)
@click.option(
    "--bundles",
    is_flag=True,
    help="List what agents are given: each capability with its status, category, icon and tools.",
)
def capabilities(
    policy_path: str | None,
    registry_name: str | None,
    as_json: bool,
    as_stubs: bool,
    bundles: bool,
) -> None:
    """List the registered capabilities; with a policy, whether each is granted."""
    from caps.security.policies.load import load_policy

    if as_stubs and as_json:
        raise click.UsageError("--stubs is text; leave --json out")
    if bundles and (as_stubs or policy_path):
        raise click.UsageError("--bundles is of no policy; leave --policy and --stubs out")
    if bundles:
        _show_bundles(registry_name, as_json)
        return
    bound = None
    with report_errors():
        registry = load_registry(registry_name)
        if as_stubs or policy_path or Variable.POLICY_PATH.read():
            bound = registry.bind(load_policy(policy_path))
    if as_stubs and bound is not None:
        _print_stubs(registry, bound)
        return
    found = registry.describe()
    for entry in found:
        entry["granted"] = None if bound is None else _status(bound, entry["name"])
    if as_json:
        click.echo(json.dumps(found))
    else:
        _print_table(found)


def _show_bundles(registry_name: str | None, as_json: bool) -> None:
    from caps.capabilities.catalogue.declaration import listing

    with report_errors():
        found = load_registry(registry_name).known_capabilities()
    if as_json:
        click.echo(json.dumps(listing(found)))
    else:
        _print_bundles(found)


def _print_bundles(found: Sequence[CapabilityDescriptor]) -> None:
    from rich.table import Table
    from rich.text import Text

    from caps.cli.render.console import Console

    columns = ("capability", "name", "status", "category", "icon", "tools")
    table = Table(*columns, box=None, pad_edge=False)
    for each in found:
        tools = ", ".join(tool.key for tool in each.tools)
        cells = (each.key, each.name, each.status, each.category or "", each.icon or "", tools)
        table.add_row(*(Text(escape_unprintable(cell)) for cell in cells))
    Console().print(table)


def _print_stubs(registry: CapabilityRegistry, bound: BoundPolicy) -> None:
    from caps.capabilities.stubs.render import render

    click.echo(render(bound, domains=registry.domains), nl=False)


def _status(bound: BoundPolicy, name: str) -> str:
    terms = bound.terms[name]
    if terms.withheld is not None:
        return str(terms.withheld)
    return "granted" if terms.approve is None else "granted with approval"


def _print_table(found: list[dict[str, Any]]) -> None:
    from rich.table import Table
    from rich.text import Text

    from caps.cli.render.console import Console

    table = Table("capability", "parameters", "what it does", box=None, pad_edge=False)
    with_policy = any(entry["granted"] for entry in found)
    if with_policy:
        table.add_column("policy")
    for entry in found:
        parameters = ", ".join(entry["schema_in"].get("properties", {}))
        summary = entry["title"] or entry["description"].partition("\n")[0]
        cells = [entry["name"], parameters, summary]
        if with_policy:
            cells.append(entry["granted"])
        table.add_row(*(Text(cell) for cell in cells))
    Console().print(table)
