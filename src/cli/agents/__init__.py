"""`caps agents`: create, list, show, delete and run agents of the store, and chat with them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from caps.cli.agents.chat import chat
from caps.cli.agents.run import run
from caps.cli.agents.stored import find_agent, in_store
from caps.cli.exits import ExitCode, fail, report_errors
from caps.cli.input_files import read_input
from caps.cli.options import (
    json_option,
    load_registry,
    principal_option,
    principal_or_user,
    registry_option,
    store_option,
)
from caps.protocol.text import printable

if TYPE_CHECKING:
    from caps.agents.definition import AgentDefinition
    from caps.store.repositories.agents import StoredAgent

_PAGE = 200


@click.group()
def agents() -> None:
    """Create, list, show, delete and run agents of the store, and chat with them."""


agents.add_command(run)
agents.add_command(chat)


@agents.command()
@click.option("--file", metavar="FILE", help="The agent as JSON; `-` reads standard input.")
@click.option("--name", help="Its name, without a file.")
@click.option("--prompt", default="", help="Its system prompt.")
@click.option("--description", default="", help="What it is for.")
@click.option(
    "--capabilities",
    metavar="JSON",
    default="{}",
    help='Its capabilities, such as `{"files": {"dirs": ["reports"]}}`.',
)
@principal_option
@registry_option
@store_option
@json_option
def create(
    file: str | None,
    name: str | None,
    prompt: str,
    description: str,
    capabilities: str,
    principal: str | None,
    registry_name: str | None,
    url: str | None,
    as_json: bool,
) -> None:
    """Keep a new agent, once its capabilities and its policy fit the registry.

    A file has `name`, and may have `description`, `system_prompt`, `capabilities` and `policy`.
    """
    if (file is None) == (name is None):
        fail("give `--file`, or `--name` and the other options", ExitCode.BAD_USAGE)
    with report_errors():
        if file is None:
            given = {"name": name, "system_prompt": prompt, "description": description}
            defined = _defined({**given, "capabilities": _json(capabilities)})
        else:
            defined = _defined_by(file)
        agent = _checked(defined, principal_or_user(principal), registry_name)
        in_store(url, lambda found: found.add(agent), writes=True)
    if as_json:
        click.echo(json.dumps(as_document(agent)))
    else:
        click.echo(f"the agent `{printable(agent.name, 200)}` is kept as `{agent.id}`")


@agents.command("list")
@store_option
@json_option
def list_(url: str | None, as_json: bool) -> None:
    """Print all agents, oldest first."""
    with report_errors():
        found = in_store(url, _all_agents)
    if as_json:
        click.echo(json.dumps([as_document(each) for each in found]))
        return
    if not found:
        click.echo("there are no agents")
    for each in found:
        keys = " ".join(each.capabilities)
        click.echo(printable(f"{each.id}  {each.name}  {keys}".rstrip(), 400))


@agents.command()
@click.argument("agent")
@registry_option
@store_option
def show(agent: str, registry_name: str | None, url: str | None) -> None:
    """Print AGENT (an id, or a name) as JSON, with the tools that its capabilities amount to."""
    from caps.agents.resolution import resolve_agent

    with report_errors():
        found = find_agent(url, agent)
        resolved = resolve_agent(load_registry(registry_name), found.capabilities, found.name)
    tools = [{"key": each.key, "function": each.function} for each in resolved.tools]
    document = {**as_document(found), "tools": tools, "warnings": list(resolved.warnings)}
    click.echo(json.dumps(document, indent=2))


@agents.command()
@click.argument("agent")
@store_option
def delete(agent: str, url: str | None) -> None:
    """Delete AGENT (an id, or a name). Its threads stay: they are its users'."""
    with report_errors():
        found = find_agent(url, agent)
        in_store(url, lambda agents: agents.delete(found.id), writes=True)
    click.echo(f"the agent `{printable(found.name, 200)}` is deleted")


def as_document(agent: StoredAgent) -> dict[str, Any]:
    """An agent as JSON, as the HTTP API shows it."""
    import msgspec

    found: dict[str, Any] = msgspec.to_builtins(agent)
    return found


def _all_agents(found: Any) -> list[StoredAgent]:
    listed: list[StoredAgent] = []
    while True:
        page = found.page(after=listed[-1].id if listed else None, limit=_PAGE)
        listed += page
        if len(page) < _PAGE:
            return listed


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        fail(f"the capabilities are not valid JSON: {error}", ExitCode.BAD_USAGE)


def _defined_by(file: str) -> AgentDefinition:
    from caps.agents.definition import MAX_DEFINITION_BYTES, read_definition

    data = read_input(file, MAX_DEFINITION_BYTES)
    if len(data) > MAX_DEFINITION_BYTES:
        fail(f"an agent has at most {MAX_DEFINITION_BYTES} bytes", ExitCode.BAD_USAGE)
    return read_definition(data)


def _defined(fields: dict[str, Any]) -> AgentDefinition:
    from caps.agents.definition import read_definition

    return read_definition(json.dumps(fields).encode())


def _checked(defined: AgentDefinition, created_by: str, registry_name: str | None) -> StoredAgent:
    """A new agent that fits the registry. Raises AgentInvalidError and PolicyInvalidError."""
    import msgspec

    from caps.agents.definition import new_agent
    from caps.agents.resolution import resolve_agent

    registry = load_registry(registry_name)
    resolve_agent(registry, defined.capabilities, defined.name)
    if defined.policy is not None:
        registry.bind(defined.policy)
    return new_agent(**msgspec.structs.asdict(defined), created_by=created_by)
