"""`caps agents chat`: a conversation, line by line, in one thread."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from caps.cli.agents.running import RunOptions, complain, open_runner, prepare, run_options
from caps.cli.exits import report_errors
from caps.cli.signals import exit_on_sigterm
from caps.cli.streams import ProgramOutput

if TYPE_CHECKING:
    from uuid import UUID

    from caps.agents.runner.runner import AgentRunner
    from caps.cli.agents.running import Prepared


@click.command()
@click.argument("agent")
@run_options
def chat(agent: str, **options: Any) -> None:
    """Chat with AGENT (an id, or a name): each line is a message. Ctrl-D leaves.

    The thread is kept in the store: `--thread` continues it.
    """
    import anyio

    with report_errors(), exit_on_sigterm():
        prepared = prepare(agent, RunOptions(**options))
        thread = prepared.thread()

        async def main() -> None:
            async with open_runner(prepared) as runner:
                await _converse(runner, prepared, thread)

        anyio.run(main)


async def _converse(runner: AgentRunner, prepared: Prepared, thread: UUID | None) -> None:
    import anyio.to_thread

    output = ProgramOutput(raw=False)
    interactive = sys.stdin is not None and sys.stdin.isatty()
    while True:
        read = _typed if interactive else _piped
        line = await anyio.to_thread.run_sync(read, abandon_on_cancel=True)
        if line is None:
            break
        if not line.strip():
            continue
        result = await runner.run(prepared.agent, line, prepared.context(thread=thread))
        thread = result.thread_id
        complain(result)
        if result.answer:
            output(f"{result.answer}\n")
    output.exit_if_lost()
    if thread is not None:
        click.echo(f"caps: continue with `--thread {thread}`", err=True)


def _typed() -> str | None:
    import readline  # noqa: F401 - `input` edits lines with it

    try:
        return input("> ")
    except EOFError:
        click.echo(err=True)
        return None


def _piped() -> str | None:
    from caps.agents.runner.model import MAX_MESSAGE_CHARACTERS

    if sys.stdin is None:
        return None
    # One character more than a message may have, so that a longer one is refused.
    line = sys.stdin.readline(MAX_MESSAGE_CHARACTERS + 2)
    return line.rstrip("\r\n") if line else None
