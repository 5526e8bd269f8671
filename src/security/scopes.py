"""(1) Scopes: the argument-level part of a policy, one model per domain.

A provider's domain declares a subclass of `Scope`. A policy's `scopes.<domain>` is parsed by it, so
a misspelt key is an error and never a wider grant. `violation` is pure: it looks at the payload and
says what is wrong with it. What only the moment of use can tell (a symbolic link, say) the provider
refuses by raising `ScopeViolationError`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict

from caps.protocol.errors import PolicyFault


@dataclass(frozen=True, slots=True)
class Violation:
    """Why a scope refuses a payload: the key of the scope that says so, and a line for people."""

    rule: str
    message: str


class ScopeViolationError(PolicyFault):
    """A provider met, while acting, something that its scope forbids; nothing was done."""

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(message, rule=rule)
        self.violation = Violation(rule, message)


class Scope(BaseModel):
    """Base of all scope models."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    def violation(self, function: str, payload: Mapping[str, Any]) -> Violation | None:
        """What of `payload` lies outside this scope for `<domain>.<function>`; None if nothing."""
        raise NotImplementedError

    def anchored(self, base: Path) -> Self:  # noqa: ARG002 - for scopes with paths
        """The same scope with relative paths taken from `base`, the policy file's directory."""
        return self
