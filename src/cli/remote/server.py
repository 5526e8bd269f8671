"""Whether a command goes to a service: by `--server` or CAPS_SERVER, and which commands can."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click
from click.core import ParameterSource

from caps.cli.exits import ExitCode, fail
from caps.protocol.environment import Variable
from caps.protocol.errors import ConfigurationError

if TYPE_CHECKING:
    from caps.client import Client

REMOTE: Final = frozenset({"agents", "audit", "call", "run"})
# About this host, or about files: CAPS_SERVER does not concern them.
LOCAL: Final = frozenset({"config", "db", "doctor", "policy", "serve", "token"})


class Server(NamedTuple):
    """The service that a command goes to. The token is never an argument of a command."""

    url: str
    token_file: Path | None
    plain_http: bool


def choose_server(
    command: str | None, given: str | None, token_file: Path | None, plain_http: bool
) -> Server | None:
    """The service for this command; None if it works here. Ends one that cannot be remote."""
    if given is None and (token_file is not None or plain_http):
        raise click.UsageError("`--token-file` and `--plain-http` need `--server`")
    if command in LOCAL and given is None:
        return None
    url = given or Variable.SERVER.read()
    if not url:
        return None
    if command not in REMOTE:
        refuse_remote(f"`caps {command}`")
    return Server(url=url, token_file=token_file, plain_http=plain_http)


def refuse_remote(what: str) -> None:
    """End the command: this part of it works on this host only."""
    fail(
        f"{what} works on this host only; leave out `--server`, and unset {Variable.SERVER.key}",
        ExitCode.BAD_USAGE,
    )


def chosen_server() -> Server | None:
    """The service that the running command goes to; None if it works here."""
    found = click.get_current_context().find_root().obj
    return found if isinstance(found, Server) else None


def refuse_local_options(*names: str) -> None:
    """End the command if an option is given that only means something on this host."""
    context = click.get_current_context()
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if parameter.name in names and source is ParameterSource.COMMANDLINE:
            fail(
                f"`{parameter.opts[0]}` cannot be used with a service; it works on this host only",
                ExitCode.BAD_USAGE,
            )


@contextmanager
def remote_client(server: Server) -> Iterator[Client]:
    """A client of the service. Ends the command at its errors, with the exit code of local ones."""
    try:
        from caps.client import Client, ProblemError
    except ImportError as error:
        raise ConfigurationError(
            "`--server` needs the extra `client`; install `caps-runtime[client]`"
        ) from error
    try:
        with Client(
            server.url, token_file=server.token_file, plain_http=server.plain_http
        ) as client:
            yield client
    except ProblemError as error:
        if error.problem.code == "policy_invalid":
            fail(error.message, ExitCode.POLICY_INVALID)
        raise  # `report_errors` tells the caller's faults from those of the host


def policy_given(paths: tuple[str, ...]) -> dict[str, Any] | None:
    """The policy of `--policy`, which lies beneath those of the service.

    Ends the command if there are several. Raises PolicyInvalidError.
    """
    import msgspec

    from caps.security.policies.load import policy_from_json, read_policy

    if len(paths) > 1:
        fail("a service takes one policy beneath its own; give one `--policy`", ExitCode.BAD_USAGE)
    if not paths:
        return None
    data = read_policy(paths[0])
    policy_from_json(data, source=paths[0])
    return msgspec.json.decode(data, type=dict[str, Any])
