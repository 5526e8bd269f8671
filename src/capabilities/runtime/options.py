"""The arguments of the methods of a `Runtime`, checked before anything is recorded."""

from __future__ import annotations

from inspect import iscoroutinefunction

from caps.protocol.argument_checks import require
from caps.protocol.errors import ConfigurationError


def check_revoke_arguments(
    execution_id: object, capability: object, by: object, reason: object
) -> None:
    """Raise ConfigurationError for arguments of `revoke` that have a wrong type."""
    require(isinstance(execution_id, str), "execution_id", execution_id, "a `str`")
    require(isinstance(capability, str), "capability", capability, "a `str`")
    for name, value in (("by", by), ("reason", reason)):
        require(value is None or isinstance(value, str), name, value, "a `str`, or None")


def check_run_arguments(on_output: object, check: object = False) -> None:
    """Raise ConfigurationError for arguments of `run` that have a wrong type."""
    fits = on_output is None or callable(on_output)
    require(fits, "on_output", on_output, "a function of one string")
    if on_output is not None and iscoroutinefunction(on_output):
        raise ConfigurationError("on_output must be a plain function; nobody awaits an `async def`")
    require(isinstance(check, bool), "check", check, "a `bool`")


def check_execution_id(execution_id: object) -> None:
    """Raise ConfigurationError unless it is None or has the form of an id."""
    fits = isinstance(execution_id, str) and len(execution_id) == 32
    fits = fits and frozenset("0123456789abcdef").issuperset(str(execution_id))
    expected = "32 lowercase hexadecimal digits, or None"
    require(execution_id is None or fits, "execution_id", execution_id, expected)
