"""(6) What a decision reads: a grant, its policies, and what each says about a capability."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Protocol

from caps.security.policies.flow_rules import BoundFlow
from caps.security.policy import Limits, Rate
from caps.security.reasons import Problem, ReasonCode
from caps.security.scopes import Scope


class CapabilityTerms(Protocol):
    """What a grant says about one registered capability, granted or withheld."""

    @property
    def name(self) -> str: ...
    @property
    def rule(self) -> str | None: ...
    @property
    def withheld(self) -> ReasonCode | None:
        """Why it is not granted, from `evaluate_terms`; None if it is granted."""

    @property
    def scope(self) -> Scope | None: ...
    @property
    def rate(self) -> Rate | None: ...
    @property
    def approve(self) -> str | None:
        """The rule that asks for an approval, if one does."""

    @property
    def dry_run(self) -> str | None:
        """The `deny` rule in dry run that covers it, if one does."""

    @property
    def flows(self) -> tuple[BoundFlow, ...]:
        """The rules of `flows` that cover it, in their order."""

    @property
    def labels(self) -> frozenset[str]:
        """What every answer of it is labelled with; its scope may add to that."""

    def problems_in(self, payload: Mapping[str, Any]) -> tuple[Problem, ...]:
        """What does not fit the schema of the capability; empty if everything fits. Pure."""


class PolicyTerms(Protocol):
    """One policy of a grant, applied to all registered capabilities."""

    @property
    def policy_id(self) -> str: ...
    @property
    def policy_sha256(self) -> str: ...
    @property
    def limits(self) -> Limits: ...
    @property
    def terms(self) -> Mapping[str, CapabilityTerms]: ...


class GrantTerms(PolicyTerms, Protocol):
    """What one execution may do. Its own id, digest and terms are those of its last policy."""

    @property
    def links(self) -> tuple[PolicyTerms, ...]:
        """The policies, of which each must allow; never empty."""

    @property
    def limits(self) -> Limits:
        """The lowest limit of each kind among the policies; `rates` are not part of it."""

    @property
    def revoked(self) -> AbstractSet[str]: ...
    @property
    def uncarded(self) -> AbstractSet[str]:
        """The capabilities without a valid tool card, if cards are required."""
