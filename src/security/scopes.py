"""(1) Scopes: the argument-level part of a policy, one model per domain.

A provider's domain declares a subclass of `Scope`. A policy's `scopes.<domain>` is parsed by it, so
a misspelt key is an error and never a wider grant. `violation` is pure: it looks at the payload and
says what is wrong with it. What only the moment of use can tell (a symbolic link, say) the provider
refuses by raising `ScopeViolationError`.

`violation` is all that a decision asks, and `writable_directories` what is asked before a policy
comes into force. The methods after it are asked by the tools that judge policies
(`caps.security.review`); their defaults say that nothing is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import msgspec
from pydantic import BaseModel, ConfigDict

from caps.protocol.errors import PolicyFault

if TYPE_CHECKING:
    from caps.security.review.scope_answers import Concern, ScopeChange, ScopeProposal, SeenCall
    from caps.security.review.width import Width


class Violation(msgspec.Struct, frozen=True):
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

    # Most domains are not used in a run: what is, is built then.
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)

    def violation(self, function: str, payload: Mapping[str, Any]) -> Violation | None:
        """What of `payload` lies outside this scope for `<domain>.<function>`; None if nothing."""
        raise NotImplementedError

    def anchored(self, base: Path) -> Self:  # noqa: ARG002 - for scopes with paths
        """The same scope with relative paths taken from `base`, the policy file's directory."""
        return self

    def readable_directories(self, functions: AbstractSet[str]) -> tuple[Path, ...]:  # noqa: ARG002
        """The directories whose content `functions` can see, by this (anchored) scope."""
        return ()

    def writable_directories(self, functions: AbstractSet[str]) -> tuple[Path, ...]:  # noqa: ARG002
        """The directories whose content `functions` can change, by this (anchored) scope.

        A policy by which one of them holds the policy itself, or the evidence, is refused.
        """
        return ()

    def fields_of(self, function: str) -> Mapping[str, AbstractSet[str]] | None:  # noqa: ARG002
        """For each key of the scope the arguments that it is held against; None: any of them."""
        return None

    def never(self, function: str) -> str | None:  # noqa: ARG002 - for scopes that know
        """The key that refuses every call of `function`, if one does."""
        return None

    def change_for(self, function: str, payload: Mapping[str, Any]) -> ScopeChange | None:  # noqa: ARG002
        """The smallest change that lets `payload` past the violation that it meets first."""
        return None

    def widths_to(self, newer: Scope) -> dict[str, Width]:
        """For each key what `newer` lets through beside this scope; both are anchored."""
        from caps.security.review.width import Width

        older, changed = self.model_dump(), newer.model_dump()
        return {
            key: Width.SAME if older.get(key) == changed.get(key) else Width.MIXED
            for key in {**older, **changed}
        }

    def concerns(self, functions: AbstractSet[str], given: AbstractSet[str]) -> tuple[Concern, ...]:  # noqa: ARG002
        """What a reviewer should look at, if `functions` are granted and `given` keys spelt out."""
        return ()

    @classmethod
    def covering(cls, calls: Sequence[SeenCall], held: Self | None) -> ScopeProposal | None:  # noqa: ARG003
        """The narrowest scope for `calls`, which were made under `held` if that is known."""
        return None
