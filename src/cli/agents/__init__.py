"""`caps agents`: create, list, show, delete and run agents of the store, and chat with them.

All but `run` and `chat` also work on a service.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import click

from caps.cli.agents.chat import chat
from caps.cli.agents.place import agent_place
from caps.cli.agents.run import run
from caps.cli.exits import ExitCode, fail, report_errors
from caps.cli.input_files import read_input
from caps.cli.options import json_option, principal_option, registry_option, store_option
from caps.cli.remote.server import chosen_server, refuse_remote
from caps.protocol.text import printable

if TYPE_CHECKING:
    from caps.agents.definition import AgentDefinition

# Subcommands that work on a service.
REMOTE: Final = frozenset({"create", "delete", "list", "show"})


@click.group()
@click.pass_context
def agents(context: click.Context) -> None:
    """Create, list, show, delete and run agents, and chat with them."""
    if chosen_server() is not None and context.invoked_subcommand not in REMOTE:
        refuse_remote(f"`caps agents {context.invoked_subcommand}`")


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
    help='Its capabilities, such as `{"files": {"dirs": ["/data/reports"]}}`.',
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
        place = agent_place(url, registry_name=registry_name, principal=principal)
        if file is None:
            given = {"name": name, "system_prompt": prompt, "description": description}
            defined = _defined({**given, "capabilities": _json(capabilities)})
        else:
            defined = _defined_by(file)
        agent = place.create(defined)
    if as_json:
        click.echo(json.dumps(agent))
    else:
        click.echo(f"the agent `{printable(agent['name'], 200)}` is kept as `{agent['id']}`")


@agents.command("list")
@store_option
@json_option
def list_(url: str | None, as_json: bool) -> None:
    """Print all agents, oldest first."""
    with report_errors():
        found = agent_place(url).listed()
    if as_json:
        click.echo(json.dumps(found))
        return
    if not found:
        click.echo("there are no agents")
    for each in found:
        keys = " ".join(each["capabilities"])
        click.echo(printable(f"{each['id']}  {each['name']}  {keys}".rstrip(), 400))


@agents.command()
@click.argument("agent")
@registry_option
@store_option
def show(agent: str, registry_name: str | None, url: str | None) -> None:
    """Print AGENT (an id, or a name) as JSON, with the tools that its capabilities amount to."""
    with report_errors():
        place = agent_place(url, registry_name=registry_name)
        found = place.find(agent)
        tools, warnings = place.tools(found)
    click.echo(json.dumps({**found, "tools": tools, "warnings": warnings}, indent=2))


@agents.command()
@click.argument("agent")
@store_option
def delete(agent: str, url: str | None) -> None:
    """Delete AGENT (an id, or a name). Its threads stay: they are its users'."""
    with report_errors():
        place = agent_place(url)
        found = place.find(agent)
        place.delete(found)
    click.echo(f"the agent `{printable(found['name'], 200)}` is deleted")


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
