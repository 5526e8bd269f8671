"""Options that several commands share, and what is made of their values."""

from __future__ import annotations

import functools
import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from caps.cli.exits import ExitCode, fail, report_errors
from caps.cli.gc_pause import gc_paused
from caps.protocol.environment import Variable
from caps.protocol.errors import RegistrationError
from caps.protocol.text import escape_unprintable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from caps.capabilities.registry import CapabilityRegistry
    from caps.security.approvals.approver import DirectoryApprover
    from caps.security.approvals.model import ApprovalRequest
    from caps.security.audit import AuditSettings

_Command = TypeVar("_Command", bound=Callable[..., Any])


def _configured(variable: Variable) -> str | None:
    """The value in the configuration file: click itself knows the environment only."""
    return variable.read() or None


policy_option = click.option(
    "--policy",
    "policy_paths",
    metavar="FILE",
    multiple=True,
    help="The policy; by default the file that CAPS_POLICY_PATH names, else nothing is granted. "
    "Repeatable: each must allow.",
)
registry_option = click.option(
    "--registry",
    "registry_name",
    metavar="MODULE:NAME",
    envvar=Variable.REGISTRY.key,
    default=functools.partial(_configured, Variable.REGISTRY),
    show_envvar=True,
    help="A registry of your own, or a function that makes one, instead of the built-in one.",
)
approvals_option = click.option(
    "--approvals",
    "directory",
    type=click.Path(path_type=Path),
    metavar="DIR",
    envvar=Variable.APPROVALS_PATH.key,
    default=functools.partial(_configured, Variable.APPROVALS_PATH),
    show_envvar=True,
    help="Where calls wait for approvals; by default in the user's state directory.",
)
audit_option = click.option(
    "--audit",
    "audit_path",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Where the evidence goes; by default CAPS_AUDIT_PATH, else the user's state directory.",
)
audit_sink_option = click.option(
    "--audit-sink",
    "audit_sinks",
    multiple=True,
    metavar="URL",
    help="A further place for the evidence, in addition to CAPS_AUDIT_SINKS; repeatable. As "
    "`syslog+tcp://host:601?mode=required&deadline_ms=500`.",
)
raw_option = click.option(
    "--raw",
    is_flag=True,
    help="Print the program's output unchanged, with the escapes that a terminal obeys.",
)
principal_option = click.option(
    "--principal", default=None, help="Who it runs for; by default the current user."
)
agent_option = click.option("--agent", default=None, help="The agent that wrote the code.")
session_option = click.option(
    "--session",
    default=None,
    metavar="NAME",
    help="The session that it belongs to: whose files it has, and what was read in it before.",
)
store_option = click.option(
    "--url",
    metavar="URL",
    help="The store; by default CAPS_DATABASE_URL, else the file in the user's state directory.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")


def telemetry_options(command: _Command) -> _Command:
    """`--metrics-port` and `--metrics-address`."""
    address = click.option(
        "--metrics-address",
        metavar="ADDRESS",
        default="127.0.0.1",
        show_default=True,
        help="Where metrics are served; another address than loopback shows them to others.",
    )
    port = click.option(
        "--metrics-port",
        type=click.IntRange(0, 65535),
        metavar="PORT",
        help="Serve Prometheus metrics at /metrics while code runs; 0 is any free port.",
    )
    return port(address(command))


def audit_settings(directory: Path | None, sinks: Sequence[str]) -> AuditSettings:
    """The settings of the log, from options and variables. Ends the command if one is invalid."""
    with gc_paused():
        from caps.security.audit import AuditSettings

    with report_errors():
        return AuditSettings.from_environment(directory).with_sinks(sinks)


def load_registry(name: str | None) -> CapabilityRegistry:
    """The registry that the option names, or the built-in one, with the external MCP servers."""
    registry = _named_registry(name)
    if Variable.MCP_SERVERS.read():
        from caps.mcp.client.registering import register_mcp_servers

        register_mcp_servers(registry)
    return registry


def _named_registry(name: str | None) -> CapabilityRegistry:
    from caps.capabilities.registry import CapabilityRegistry
    from caps.providers.builtin import builtin_registry

    if name is None:
        return builtin_registry()
    module_name, _, attribute = name.partition(":")
    sys.path.append(str(Path.cwd()))  # as `python -m` does
    try:
        found = getattr(importlib.import_module(module_name), attribute or "registry")
        registry = found() if callable(found) else found
    except RegistrationError:
        raise
    except Exception as error:  # noqa: BLE001 - the operator's own code
        fail(f"registry `{name}` cannot be loaded: {error}", ExitCode.BAD_USAGE)
    if not isinstance(registry, CapabilityRegistry):
        fail(f"`{name}` is not a capability registry", ExitCode.BAD_USAGE)
    return registry


def principal_or_user(given: str | None) -> str:
    """The principal that an option names, or the user who runs the command."""
    if given:
        return given
    import getpass

    try:
        return f"user:{getpass.getuser()}"
    except (KeyError, OSError):  # a container's user often has no name
        return f"user:{os.getuid()}"


def announcing_approver(directory: Path | None) -> DirectoryApprover:
    """An approver that asks through the directory, and announces each request on standard error."""
    from caps.security.approvals.approver import DirectoryApprover

    return DirectoryApprover(directory, announce=_announce)


def _announce(request: ApprovalRequest) -> None:
    from caps.cli.render.tables import format_arguments

    arguments = format_arguments(request.shown, request.hidden)
    what = escape_unprintable(f"{request.capability}({arguments})")
    answer = f"caps approvals allow|deny {request.id[:12]}"
    click.echo(f"caps: {what} waits for an approval, answer with `{answer}`", err=True)
