"""`caps functions`: what code can call, and what of it a policy grants."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from caps.cli.exits import report_errors
from caps.cli.options import json_option, load_registry, policy_option, registry_option
from caps.protocol.environment import Variable

if TYPE_CHECKING:
    from caps.capabilities.chain import PolicyChain
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
def functions(
    policy_paths: tuple[str, ...],
    registry_name: str | None,
    as_json: bool,
    as_stubs: bool,
) -> None:
    """List the functions that code can call; with a policy, whether each is granted."""
    from caps.cli.policy.files import load_policies

    if as_stubs and as_json:
        raise click.UsageError("--stubs is text; leave --json out")
    chain = None
    with report_errors():
        registry = load_registry(registry_name)
        if as_stubs or policy_paths or Variable.POLICY_PATH.read():
            chain = registry.chain([registry.bind(each) for each in load_policies(policy_paths)])
    if as_stubs and chain is not None:
        _print_stubs(registry, chain)
        return
    found = registry.describe()
    for entry in found:
        entry["granted"] = None if chain is None else _status(chain, entry["name"])
    if as_json:
        click.echo(json.dumps(found))
    else:
        _print_table(found)


def _print_stubs(registry: CapabilityRegistry, chain: PolicyChain) -> None:
    from caps.capabilities.stubs.render import render

    click.echo(render(chain, domains=registry.domains), nl=False)


def _status(chain: PolicyChain, name: str) -> str:
    terms = chain.terms[name]
    if terms.withheld is not None:
        policy = chain.withheld_by(name)
        several = policy is not None and len(chain.policies) > 1
        return (
            f"{terms.withheld} ({policy.policy_id})" if policy and several else str(terms.withheld)
        )
    return "granted" if terms.approve is None else "granted with approval"


def _print_table(found: list[dict[str, Any]]) -> None:
    from rich.table import Table
    from rich.text import Text

    from caps.cli.render.console import Console

    table = Table("function", "parameters", "what it does", box=None, pad_edge=False)
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
