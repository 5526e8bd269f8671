"""(3) The grant: what one execution may do, fixed before it starts.

`BoundPolicy` is a policy revision set against a registry: for every registered capability, whether
it is granted and on which terms. It is made once per revision; a `Grant` is that plus an execution,
so injection costs the same however many capabilities there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from caps.capabilities.provider import Provider, Scope
from caps.capabilities.schema import CompiledSchema
from caps.capabilities.spec import CapabilitySpec
from caps.protocol.messages import ManifestEntry
from caps.security.decision import Problem, ReasonCode
from caps.security.guarded import Guarded
from caps.security.policy import Limits, Rate, SecurityPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """One capability under one policy revision: granted, or withheld and why."""

    spec: CapabilitySpec
    provider: Provider
    schema_in: CompiledSchema
    schema_out: CompiledSchema
    rule: str | None
    withheld: ReasonCode | None
    scope: Scope | None
    rate: Rate | None
    approve: str | None = None
    dry_run: str | None = None

    @property
    def name(self) -> str:
        return self.spec.name

    def problems_in(self, payload: Mapping[str, Any]) -> tuple[Problem, ...]:
        return self.schema_in.problems(payload)

    @property
    def manifest_entry(self) -> ManifestEntry:
        """The capability as user space may know it."""
        spec = self.spec
        return ManifestEntry(
            name=spec.name,
            schema_in=spec.schema_in,
            title=spec.title,
            description=spec.description,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundPolicy:
    """A policy revision set against a registry."""

    policy: SecurityPolicy
    source: str
    terms: Mapping[str, Terms]
    granted: tuple[str, ...]
    manifest: tuple[ManifestEntry, ...]
    terms_sha256: str
    """The digest of the policy and of where its scopes lead: the same file in another directory
    has the same `policy.sha256`, and other terms."""
    guarded: tuple[Guarded, ...] = ()
    """What its scopes were seen to keep away from."""

    @property
    def withheld(self) -> tuple[Terms, ...]:
        """What is registered and not granted."""
        return tuple(terms for terms in self.terms.values() if terms.withheld is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What one execution may do. Immutable; revoking makes a new one."""

    execution_id: str
    namespace: str
    bound: BoundPolicy
    revoked: frozenset[str] = field(default=frozenset())
    learning: bool = False
    """User space gets a wrapper for what is withheld, too, so that its attempts reach the broker,
    which refuses and records them as ever: it widens the manifest and no decision."""

    @property
    def manifest(self) -> tuple[ManifestEntry, ...]:
        """What the worker builds `caps` from."""
        if not self.learning:
            return self.bound.manifest
        return tuple(terms.manifest_entry for terms in self.bound.terms.values())

    @property
    def policy_id(self) -> str:
        return self.bound.policy.id

    @property
    def policy_sha256(self) -> str:
        return self.bound.policy.sha256

    @property
    def terms_sha256(self) -> str:
        return self.bound.terms_sha256

    @property
    def limits(self) -> Limits:
        return self.bound.policy.limits

    @property
    def modules(self) -> tuple[str, ...]:
        return self.bound.policy.modules

    @property
    def terms(self) -> Mapping[str, Terms]:
        return self.bound.terms

    def revoking(self, *capabilities: str) -> Grant:
        """The same grant without `capabilities`."""
        return replace(self, revoked=self.revoked.union(capabilities))

    def for_learning(self) -> Grant:
        """The same grant for an execution that is watched for what it asks."""
        return replace(self, learning=True)
