"""`caps agents run`: one message, one answer."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from caps.cli.agents.running import (
    EXIT_BY_STATUS,
    RunOptions,
    complain,
    open_runner,
    prepare,
    run_options,
)
from caps.cli.exits import report_errors
from caps.cli.input_files import STANDARD_INPUT, read_text
from caps.cli.options import json_option
from caps.cli.signals import exit_on_sigterm
from caps.cli.streams import ProgramOutput

if TYPE_CHECKING:
    from caps.agents.runner.model import RunResult


@click.command()
@click.argument("agent")
@click.argument("message")
@click.option("--silent", is_flag=True, help="Nobody follows: the agent gets `notify_user`.")
@run_options
@json_option
def run(agent: str, message: str, silent: bool, as_json: bool, **options: Any) -> None:
    """Let AGENT (an id, or a name) answer MESSAGE, and print the answer. `-` reads the message.

    The thread is kept in the store: `--thread` continues it. Ends with 5 if a limit was reached,
    and with 6 if the model failed.
    """
    import anyio

    text = message
    with report_errors(), exit_on_sigterm():
        if message == STANDARD_INPUT:
            from caps.agents.runner.model import MAX_MESSAGE_CHARACTERS

            text = read_text(STANDARD_INPUT, MAX_MESSAGE_CHARACTERS)
        prepared = prepare(agent, RunOptions(**options))
        context = prepared.context(thread=prepared.thread(), silent=silent)

        async def main() -> RunResult:
            async with open_runner(prepared) as runner:
                return await runner.run(prepared.agent, text, context)

        result = anyio.run(main)
    if as_json:
        click.echo(json.dumps(_as_json(result)))
    else:
        complain(result)
        if result.answer:
            ProgramOutput(raw=False)(f"{result.answer}\n")
        if result.thread_id is not None:
            click.echo(f"caps: continue with `--thread {result.thread_id}`", err=True)
    sys.exit(EXIT_BY_STATUS[result.status.value])


def _as_json(result: RunResult) -> dict[str, Any]:
    import msgspec

    found: dict[str, Any] = msgspec.to_builtins(result)
    return found
