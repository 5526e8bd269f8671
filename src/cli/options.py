"""Options that several commands share."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from caps.cli.exits import ExitCode, fail, told_in_one_line
from caps.cli.gc_pause import loading
from caps.protocol.errors import RegistrationError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from caps.capabilities.registry import CapabilityRegistry
    from caps.security.audit import AuditSettings

_Command = TypeVar("_Command", bound=Callable[..., Any])

policy_option = click.option(
    "--policy",
    "policy_path",
    metavar="FILE",
    help="The policy; by default the file that CAPS_POLICY_PATH names, else nothing is granted.",
)
registry_option = click.option(
    "--registry",
    "registry_name",
    metavar="MODULE:NAME",
    envvar="CAPS_REGISTRY",
    show_envvar=True,
    help="A registry of your own, or a function that makes one, instead of the built-in one.",
)
approvals_option = click.option(
    "--approvals",
    "directory",
    type=click.Path(path_type=Path),
    metavar="DIR",
    envvar="CAPS_APPROVALS_PATH",
    show_envvar=True,
    help="Where calls wait for approvals; by default in the user's state directory.",
)
audit_sink_option = click.option(
    "--audit-sink",
    "audit_sinks",
    multiple=True,
    metavar="URL",
    help="A further place for the evidence, beside CAPS_AUDIT_SINKS; repeatable. As "
    "`syslog+tcp://host:601?mode=required&deadline_ms=500`.",
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
    """How the log is kept: by the options, and the variables. Ends the command if they are bad."""
    with loading():
        from caps.security.audit import AuditSettings

    with told_in_one_line():
        return AuditSettings.from_environment(directory).with_sinks(sinks)


def load_registry(name: str | None) -> CapabilityRegistry:
    """The registry that the option names, or the built-in one."""
    from caps.capabilities.registry import CapabilityRegistry
    from caps.providers.builtin import builtin_registry

    if name is None:
        return builtin_registry()
    module_name, _, attribute = name.partition(":")
    sys.path.append(str(Path.cwd()))  # where `python -m` would look, too
    try:
        found = getattr(importlib.import_module(module_name), attribute or "registry")
        registry = found() if callable(found) else found
    except RegistrationError:
        raise
    except Exception as error:  # noqa: BLE001 - it is the user's own code
        fail(f"registry `{name}` cannot be loaded: {error}", ExitCode.BAD_USAGE)
    if not isinstance(registry, CapabilityRegistry):
        fail(f"`{name}` is no capability registry", ExitCode.BAD_USAGE)
    return registry
