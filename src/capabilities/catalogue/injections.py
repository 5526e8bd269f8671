"""Run-time injections: what an execution gets by its mode, whatever the agent's object says.

They are capabilities in form, and resolved by the same code, after those of the agent. They are
kept apart: none is listed, none can be named in an agent's object, and none can be switched off.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable

import msgspec
from pydantic import BaseModel

from caps.capabilities.catalogue.agent_object import read_settings
from caps.capabilities.catalogue.capability import CapabilityStatus
from caps.capabilities.catalogue.declaration import DeclaredCapability
from caps.protocol.argument_checks import require
from caps.protocol.errors import RegistrationError


class ExecutionMode(enum.StrEnum):
    INTERACTIVE = "interactive"
    """A person reads the answers as they come."""
    SILENT = "silent"
    """Background and task runs: nobody reads along."""


class Injection(msgspec.Struct, frozen=True):
    """A capability, its settings, which are the default ones, and the modes that get it."""

    declared: DeclaredCapability
    settings: BaseModel
    modes: frozenset[ExecutionMode]


def declare_injection(declared: DeclaredCapability, modes: Iterable[ExecutionMode]) -> Injection:
    """Raises RegistrationError for what no agent's object could complete, and for no mode."""
    fits = not isinstance(modes, str) and isinstance(modes, Iterable)
    require(fits, "modes", modes, "a set of `ExecutionMode`s", RegistrationError)
    chosen = frozenset(modes)
    for mode in chosen:
        require(
            isinstance(mode, ExecutionMode), "modes", mode, "`ExecutionMode`s", RegistrationError
        )
    if not chosen:
        raise RegistrationError(f"injection `{declared.key}` has no mode; name at least one")
    if declared.depends_on:
        raise RegistrationError(f"injection `{declared.key}` cannot depend on capabilities")
    if declared.status is CapabilityStatus.COMING_SOON:
        raise RegistrationError(f"injection `{declared.key}` cannot be `coming_soon`")
    return Injection(declared, _default_settings(declared), chosen)


def _default_settings(declared: DeclaredCapability) -> BaseModel:
    required = [
        name for name, field in declared.config_model.model_fields.items() if field.is_required()
    ]
    if required:
        raise RegistrationError(
            f"injection `{declared.key}` requires the setting `{required[0]}`, which nobody can set"
        )
    try:
        return read_settings(declared.config_model, {})
    except Exception as error:
        kind = type(error).__name__
        raise RegistrationError(
            f"injection `{declared.key}` has no valid default settings: its model failed with "
            f"`{kind}`"
        ) from error
