"""Run-time injections: what an execution gets by its mode, whatever the agent's object says.

They are capabilities in form, and resolved by the same code, after those of the agent. They are
kept apart: none is listed, none can be named in an agent's object, and none can be switched off.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable

import msgspec

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
    """A capability and the modes that get it."""

    declared: DeclaredCapability
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
    required = [
        name for name, field in declared.config_model.model_fields.items() if field.is_required()
    ]
    if required:
        raise RegistrationError(
            f"injection `{declared.key}` requires the setting `{required[0]}`, which nobody can set"
        )
    return Injection(declared, chosen)
