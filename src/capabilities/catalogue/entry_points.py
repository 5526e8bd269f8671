"""Capabilities of installed packages, found by the entry-point group `caps.capabilities`.

A package names a `Capability`, as a value or a class, or a function that takes the registry and
registers functions and capabilities:

    [project.entry-points."caps.capabilities"]
    audio = "caps_audio:Audio"

Its code runs on the host with the rights of the host: installing a package is trusting it. Each
entry point is loaded whole or not at all. `CAPS_PLUGINS` says what happens to one that fails.
"""

from __future__ import annotations

import enum
import logging
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Final

from caps.capabilities.catalogue.capability import Capability
from caps.protocol.environment import Variable
from caps.protocol.errors import CapsError, ConfigurationError, RegistrationError
from caps.protocol.text import printable
from caps.security.policies.names import quoted

if TYPE_CHECKING:
    from caps.capabilities.registry import CapabilityRegistry

GROUP: Final = "caps.capabilities"

logger = logging.getLogger(__name__)


class PluginMode(enum.StrEnum):
    """What to do with a package whose capabilities cannot be loaded."""

    REFUSE = "refuse"
    SKIP = "skip"
    OFF = "off"
    """Load no package at all."""


def plugin_mode(given: str | None) -> PluginMode:
    """`given`, or the value of the variable. ConfigurationError if it is not a valid mode."""
    mode = given or Variable.PLUGINS.read() or PluginMode.REFUSE
    try:
        return PluginMode(mode)
    except ValueError:
        choices = ", ".join(f"`{each}`" for each in PluginMode)
        shown = quoted(str(mode))
        raise ConfigurationError(
            f"{Variable.PLUGINS.key} is {shown}; set one of {choices}"
        ) from None


def load_plugins(registry: CapabilityRegistry, mode: PluginMode) -> None:
    """Register what installed packages bring, in the order of their names.

    Raises RegistrationError for one that fails, unless `mode` says to skip it.
    """
    if mode is PluginMode.OFF:
        return
    for entry_point in _found(mode):
        try:
            with registry.all_or_nothing():
                _load(registry, entry_point)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - code of any package
            what = f"capability {_named(entry_point)} cannot be loaded: {_reason(error)}"
            _refuse_or_skip(mode, what, error)


def _found(mode: PluginMode) -> list[EntryPoint]:
    try:
        return sorted(entry_points(group=GROUP), key=lambda each: (each.name, each.value))
    except Exception as error:  # noqa: BLE001 - files of any package
        what = f"the metadata of installed packages cannot be read: {_reason(error)}"
        _refuse_or_skip(mode, what, error)
        return []


def _refuse_or_skip(mode: PluginMode, what: str, error: BaseException) -> None:
    if mode is PluginMode.REFUSE:
        hint = f"{Variable.PLUGINS.key}={PluginMode.SKIP} goes on without it"
        raise RegistrationError(f"{what}; {hint}") from error
    logger.warning("%s; it is skipped", what)


def _load(registry: CapabilityRegistry, entry_point: EntryPoint) -> None:
    found: object = entry_point.load()
    if isinstance(found, Capability) or (isinstance(found, type) and issubclass(found, Capability)):
        registry.register(found)
    elif callable(found) and not isinstance(found, type):
        register: Callable[[CapabilityRegistry], object] = found
        register(registry)
    else:
        kind = type(found).__name__
        raise RegistrationError(f"it is a `{kind}`, not a `Capability` or a function")


def _named(entry_point: EntryPoint) -> str:
    shown = "an unnamed package"
    if entry_point.dist is not None and "Name" in entry_point.dist.metadata:
        shown = f"package {quoted(entry_point.dist.metadata['Name'])}"
    return f"{quoted(entry_point.name)} of {shown}"


def _reason(error: BaseException) -> str:
    if isinstance(error, CapsError):
        return error.message
    return f"`{type(error).__name__}`: {printable(str(error))}"
