"""`caps`: the commands. Only the one that is called is loaded."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from caps.cli.exits import (
    MAX_MESSAGE_CHARACTERS,
    ExitCode,
    fail,
    fail_of_system,
    report_errors,
)
from caps.cli.gc_pause import gc_paused, loaded
from caps.cli.remote.server import choose_server
from caps.cli.streams import exit_without_output, flush_output, is_of_output, prepare_streams
from caps.cli.unknown_variables import warn_unknown_variables
from caps.protocol.text import printable

_COMMANDS = {
    "agents": ("caps.cli.agents", "agents"),
    "approvals": ("caps.cli.commands.approvals", "approvals"),
    "audit": ("caps.cli.audit", "audit"),
    "call": ("caps.cli.commands.call", "call"),
    "capabilities": ("caps.cli.commands.capabilities", "capabilities"),
    "config": ("caps.cli.commands.config", "config"),
    "db": ("caps.cli.commands.db", "db"),
    "doctor": ("caps.cli.commands.doctor", "doctor"),
    "functions": ("caps.cli.commands.functions", "functions"),
    "keys": ("caps.cli.commands.keys", "keys"),
    "plan": ("caps.cli.commands.plan", "plan"),
    "mcp": ("caps.cli.mcp", "mcp"),
    "policy": ("caps.cli.policy", "policy"),
    "repl": ("caps.cli.commands.repl", "repl"),
    "run": ("caps.cli.commands.run", "run"),
    "secrets": ("caps.cli.commands.secrets", "secrets"),
    "serve": ("caps.cli.commands.serve", "serve"),
    "token": ("caps.cli.commands.token", "token"),
    "tools": ("caps.cli.commands.tools", "tools"),
}


@contextmanager
def _errors_in_one_line() -> Iterator[None]:
    """End the command in one line at an error of the operating system, or of standard output.

    An error of usage quotes arguments as they were given, so it is made fit to print.
    """
    try:
        yield
    except click.exceptions.NoArgsIsHelpError:
        raise  # its message is the help text
    except click.ClickException as error:
        # click lists the values of an option on separate lines.
        message = printable(" ".join(error.format_message().split()), MAX_MESSAGE_CHARACTERS)
        raise click.UsageError(message, getattr(error, "ctx", None)) from None
    except OSError as error:
        if is_of_output(error):
            exit_without_output(error)
        fail_of_system(error)
    except MemoryError as error:
        fail_of_system(error)


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        module, name = _COMMANDS[cmd_name]
        with gc_paused():
            command: click.Command = getattr(importlib.import_module(module), name)
        return command

    def main(self, *args: Any, **extra: Any) -> Any:
        prepare_streams()
        try:
            return super().main(*args, **extra)
        finally:
            # Here and not by the interpreter, which would print a traceback.
            unwritten = flush_output()
            if unwritten is not None:
                exit_without_output(unwritten)

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        with _errors_in_one_line():  # `--help` prints here
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        # Any installed package can declare itself a plugin of pydantic and change what models
        # accept. No plugin may do that to policies. Searching for plugins takes time, too.
        os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
        try:
            # Every command may find that the configuration file cannot be used.
            with loaded(), report_errors(), _errors_in_one_line():
                return super().invoke(ctx)
        except KeyboardInterrupt:  # while a command was still loading
            fail("interrupted", ExitCode.INTERRUPTED)


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="caps-runtime", prog_name="caps")
@click.option(
    "--server",
    metavar="URL",
    help="Use a service instead of this host: `run`, `call`, `agents`, `audit`. "
    "By default CAPS_SERVER. Its token is that of CAPS_TOKEN or CAPS_TOKEN_FILE.",
)
@click.option(
    "--token-file", type=click.Path(path_type=Path), metavar="FILE", help="The token for --server."
)
@click.option("--plain-http", is_flag=True, help="Let the token go to another host without TLS.")
@click.pass_context
def main(
    context: click.Context, server: str | None, token_file: Path | None, plain_http: bool
) -> None:
    """Run untrusted Python with exactly the powers that a policy grants.

    \b
    Exit codes:
      0  the code ran to its end, or the command succeeded
      1  the code failed
      2  bad usage
      3  the policy refused a call and the code did not catch the error
      4  the policy is missing, malformed, or does not fit the registry
      5  a limit of the policy was reached
      6  the host failed: worker lost, protocol broken, audit or standard output not writable
      7  a policy tool found something: a failed test, a flaw, a wider policy, a changed decision
      130  interrupted; the code was killed
      141  nobody reads standard output any more
      143  terminated (SIGTERM); the code was killed
    `caps audit verify` has its own codes from 10 on, `verify-proof` from 30 on.
    """
    warn_unknown_variables()
    context.obj = choose_server(context.invoked_subcommand, server, token_file, plain_http)
