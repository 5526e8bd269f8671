"""`caps agents`: stored agents, on a service."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final, Protocol

import click

from caps.cli.exits import ExitCode, fail, report_errors
from caps.cli.input_files import read_text
from caps.cli.options import json_option
from caps.cli.remote.server import chosen_server
from caps.protocol.text import escape_unprintable

_FIELDS: Final = frozenset({"name", "description", "system_prompt", "capabilities", "policy"})
_MAX_AGENT_BYTES: Final = 1024 * 1024


class AgentPlace(Protocol):
    """Where agents are kept. They are documents, with the fields of `/v1/agents`."""

    def create(self, fields: dict[str, Any]) -> dict[str, Any]: ...

    def list(self) -> Iterator[dict[str, Any]]: ...

    def find(self, agent_id: str) -> dict[str, Any]: ...

    def delete(self, agent_id: str) -> None: ...


def agent_place() -> AgentPlace:
    """The service that the command goes to. Ends the command if there is none."""
    from caps.cli.remote.agents import RemoteAgents

    server = chosen_server()
    if server is None:
        fail("agents are kept by a service; give its URL: `caps --server URL`", ExitCode.BAD_USAGE)
    return RemoteAgents(server)


@click.group()
def agents() -> None:
    """Keep, list, show and delete agents."""


@agents.command()
@click.argument("file")
@json_option
def create(file: str, as_json: bool) -> None:
    """Keep the agent that FILE describes, and print its id.

    FILE (`-` for standard input) is a JSON object with `name`, and `description`, `system_prompt`,
    `capabilities` and `policy` if it has them.
    """
    with report_errors():
        made = agent_place().create(_description(file))
    click.echo(json.dumps(made) if as_json else made["id"])


@agents.command("list")
@json_option
def list_(as_json: bool) -> None:
    """Print all agents, oldest first."""
    with report_errors():
        for each in agent_place().list():
            names = ", ".join(each["capabilities"])
            line = f"{each['id']}  {escape_unprintable(each['name'])}  {escape_unprintable(names)}"
            click.echo(json.dumps(each) if as_json else line.rstrip())


@agents.command()
@click.argument("agent_id", metavar="ID")
@json_option
def show(agent_id: str, as_json: bool) -> None:
    """Print one agent."""
    with report_errors():
        found = agent_place().find(agent_id)
    click.echo(json.dumps(found, indent=None if as_json else 2))


@agents.command()
@click.argument("agent_id", metavar="ID")
def delete(agent_id: str) -> None:
    """Delete an agent and what is its own. Its executions stay."""
    with report_errors():
        agent_place().delete(agent_id)


def _description(file: str) -> dict[str, Any]:
    """What the file says; ends the command if it is not an agent."""
    try:
        found = json.loads(read_text(file, _MAX_AGENT_BYTES))
    except (ValueError, RecursionError) as error:
        fail(f"`{file}` is not valid JSON: {error}", ExitCode.BAD_USAGE)
    if not isinstance(found, dict) or not isinstance(found.get("name"), str):
        fail(f"`{file}` must be a JSON object with a `name`", ExitCode.BAD_USAGE)
    unknown = sorted(set(found) - _FIELDS)
    if unknown:
        fail(f"`{file}` has an unknown key `{unknown[0]}`", ExitCode.BAD_USAGE)
    return found
