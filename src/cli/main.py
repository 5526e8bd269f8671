"""`caps`: the commands, loaded one at a time so that each pays only for what it needs."""

from __future__ import annotations

import importlib
import os
from typing import Any

import click

from caps.cli.exits import ExitCode, fail
from caps.cli.gc_pause import loaded, loading
from caps.cli.unknown_variables import tell_unread

_COMMANDS = {
    "approvals": ("caps.cli.approvals", "approvals"),
    "audit": ("caps.cli.audit", "audit"),
    "capabilities": ("caps.cli.capabilities", "capabilities"),
    "doctor": ("caps.cli.doctor", "doctor"),
    "policy": ("caps.cli.policy", "policy"),
    "repl": ("caps.cli.repl", "repl"),
    "run": ("caps.cli.run", "run"),
}


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        module, name = _COMMANDS[cmd_name]
        with loading():
            command: click.Command = getattr(importlib.import_module(module), name)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        # A plugin is whatever package says that it is one, and it has a say in what models take in:
        # none is to have it in policies. To look for them takes time, too.
        os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
        try:
            with loaded():
                return super().invoke(ctx)
        except KeyboardInterrupt:  # while a command was still loading
            fail("interrupted", ExitCode.INTERRUPTED)


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="caps-runtime", prog_name="caps")
def main() -> None:
    """Run untrusted Python with exactly the powers that a policy grants.

    \b
    Exit codes:
      0  the code ran to its end, or the command did what it was asked
      1  the code failed
      2  bad usage
      3  the policy refused the code something that it did not catch
      4  the policy is missing, malformed, or does not fit what is registered
      5  a limit of the policy was reached
      6  the host failed: worker lost, protocol broken, audit not writable
      7  a policy tool found something: a failed test, a flaw, a wider policy, a turned decision
      130  interrupted; the code was killed
      143  terminated (SIGTERM); the code was killed
    `caps audit verify` has codes of its own, from 10 on, `verify-proof` from 30 on.
    """
    tell_unread()
