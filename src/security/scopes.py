"""(1) Scopes: the argument-level part of a policy, one model per domain.

A provider's domain declares a subclass of `Scope`. A policy's `scopes.<domain>` is parsed by it, so
a misspelt key is an error and never a wider grant. `violation` is pure: it looks at the payload and
says what is wrong with it. What is known only at the moment of use (for example a symbolic link),
the provider refuses by raising `ScopeViolationError`.

A grant may rest on several policies, each with a scope of its own: a call must lie in all of them.
`following` makes them agree on what a payload means, and a provider gets them as one `AllScopes`.

A decision calls `violation`, and for a call that it allows `labels_for`. `possible_labels` and
`writable_directories` are called before a policy comes into force. The methods after them are for
the tools that review policies (`caps.security.review`); their defaults mean that nothing is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import msgspec
from pydantic import BaseModel, ConfigDict

from caps.protocol.errors import PolicyFault
from caps.security.policies.flow_rules import NO_MARKS

if TYPE_CHECKING:
    from caps.security.review.scope_answers import (
        Concern,
        ObservedArguments,
        ScopeChange,
        ScopeProposal,
    )
    from caps.security.review.width import Breadth


class Violation(msgspec.Struct, frozen=True):
    """Why a scope refuses a payload: the key of the scope that refuses, and a line for people."""

    rule: str
    message: str


def argument_of(payload: object, name: str, default: object = None) -> object:
    """The argument `name`; None if `payload`, which may be anything, has no arguments."""
    # `dict` first: a check against an abstract class is slow, and every decision runs this.
    return payload.get(name, default) if isinstance(payload, (dict, Mapping)) else None


class ScopeViolationError(PolicyFault):
    """During a call, a provider found something that its scope forbids; nothing was done.

    `scope` is the one that forbids it, if a provider that has several knows.
    """

    def __init__(self, rule: str, message: str, *, scope: Scope | None = None) -> None:
        super().__init__(message, rule=rule)
        self.violation = Violation(rule, message)
        self.scope = scope


class Scope(BaseModel):
    """Base of all scope models."""

    # Most domains are not used in a run, so each model is built on first use.
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)

    def violation(self, function: str, payload: Mapping[str, Any]) -> Violation | None:
        """What in `payload` lies outside this scope for `<domain>.<function>`; None if nothing."""
        raise NotImplementedError

    def labels_for(self, function: str, payload: Mapping[str, Any]) -> frozenset[str]:  # noqa: ARG002
        """The labels of the answer to `<domain>.<function>` with `payload`. Pure, like `violation`.

        What is known only at the moment of use, the provider adds with `context.add_labels`.
        """
        return NO_MARKS

    def possible_labels(self, function: str) -> frozenset[str]:  # noqa: ARG002
        """Every label that `labels_for` can return for `function`."""
        return NO_MARKS

    def anchored(self, base: Path) -> Self:  # noqa: ARG002 - for scopes with paths
        """The same scope with relative paths taken from `base`, the policy file's directory."""
        return self

    def following(self, own: Scope) -> Scope:  # noqa: ARG002 - for scopes with paths
        """The same scope above a policy whose scope is `own`, or a narrower one; called for each.

        What a payload leaves open, such as where a relative path starts, the last one decides.
        """
        return self

    def readable_directories(self, functions: AbstractSet[str]) -> tuple[Path, ...]:  # noqa: ARG002
        """The directories whose content `functions` can read under this (anchored) scope."""
        return ()

    def writable_directories(self, functions: AbstractSet[str]) -> tuple[Path, ...]:  # noqa: ARG002
        """The directories whose content `functions` can change under this (anchored) scope.

        A policy is refused if one of them holds the policy file, the approvals or the audit log.
        """
        return ()

    def fields_of(self, function: str) -> Mapping[str, AbstractSet[str]] | None:  # noqa: ARG002
        """For each key of the scope, the arguments that it checks; None: possibly all of them."""
        return None

    def never(self, function: str) -> str | None:  # noqa: ARG002 - for scopes that know
        """The key that refuses every call of `function`, if one does."""
        return None

    def change_for(self, function: str, payload: Mapping[str, Any]) -> ScopeChange | None:  # noqa: ARG002
        """The smallest change that removes the first violation of `payload`."""
        return None

    def widths_to(self, newer: Scope) -> dict[str, Breadth]:
        """For each key, what `newer` allows compared to this scope; both are anchored."""
        from caps.security.review.width import Breadth

        older, changed = self.model_dump(), newer.model_dump()
        return {
            key: Breadth.SAME if older.get(key) == changed.get(key) else Breadth.MIXED
            for key in {**older, **changed}
        }

    def concerns(self, functions: AbstractSet[str], given: AbstractSet[str]) -> tuple[Concern, ...]:  # noqa: ARG002
        """What a reviewer should check, if `functions` are granted and the keys `given` are set."""
        return ()

    @classmethod
    def covering(
        cls,
        calls: Sequence[ObservedArguments],  # noqa: ARG003 - for those who override it
        held: Self | None,  # noqa: ARG003 - the same
    ) -> ScopeProposal | None:
        """The narrowest scope for `calls`; `held` is the scope they were made under, if known."""
        return None


class AllScopes(Scope):
    """The scopes of a domain under several policies: each must allow."""

    parts: tuple[Scope, ...]
    policy_ids: tuple[str, ...]

    def violation(self, function: str, payload: Mapping[str, Any]) -> Violation | None:
        for part in self.parts:
            found = part.violation(function, payload)
            if found is not None:
                return found
        return None

    def labels_for(self, function: str, payload: Mapping[str, Any]) -> frozenset[str]:
        return NO_MARKS.union(*(part.labels_for(function, payload) for part in self.parts))

    def possible_labels(self, function: str) -> frozenset[str]:
        return NO_MARKS.union(*(part.possible_labels(function) for part in self.parts))

    def policy_of(self, scope: Scope | None) -> str:
        """The id of the policy that gives this scope; all ids if the scope is not known."""
        for part, policy_id in zip(self.parts, self.policy_ids, strict=True):
            if part is scope:
                return policy_id
        return ", ".join(self.policy_ids)
