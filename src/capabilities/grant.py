"""(3) The grant: what one execution may do, fixed before it starts.

`BoundPolicy` is a policy revision set against a registry: for every registered capability, whether
it is granted and on which terms. It is made once per revision; a `Grant` is that plus an execution,
so injection costs the same however many capabilities there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from caps.capabilities.provider import Provider, Scope
from caps.capabilities.schema import CompiledSchema, portable
from caps.capabilities.spec import CapabilitySpec
from caps.protocol.messages import ManifestEntry
from caps.security.audit.model.records import Withheld
from caps.security.decision import Problem, ReasonCode
from caps.security.policies.protected_paths import Guarded
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
    at_once: bool = False
    """Whether its provider never waits."""
    name: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.spec.name)

    def problems_in(self, payload: Mapping[str, Any]) -> tuple[Problem, ...]:
        return self.schema_in.problems(payload)

    @property
    def manifest_entry(self) -> ManifestEntry:
        """The capability as user space may know it."""
        spec = self.spec
        return ManifestEntry.of(
            name=spec.name,
            schema_in=portable(spec.schema_in),
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
    # What every decision asks the policy for, taken from it once.
    policy_id: str = field(init=False)
    policy_sha256: str = field(init=False)
    limits: Limits = field(init=False)
    withheld: tuple[Terms, ...] = field(init=False)
    """What is registered and not granted."""
    withheld_records: tuple[Withheld, ...] = field(init=False)
    """The same, as the record of every start says it."""
    manifest_bytes: msgspec.Raw = field(init=False, repr=False)
    """The manifest as it travels, encoded once for all executions."""

    def __post_init__(self) -> None:
        withheld = tuple(terms for terms in self.terms.values() if terms.withheld is not None)
        for name, value in (
            ("withheld", withheld),
            ("manifest_bytes", msgspec.Raw(msgspec.msgpack.encode(self.manifest))),
            ("withheld_records", tuple(_recorded(terms) for terms in withheld)),
            ("policy_id", self.policy.id),
            ("policy_sha256", self.policy.sha256),
            ("limits", self.policy.limits),
        ):
            object.__setattr__(self, name, value)


def _recorded(terms: Terms) -> Withheld:
    return Withheld(capability=terms.name, reason=str(terms.withheld))


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
    # What every decision asks, taken from the policy once.
    policy_id: str = field(init=False)
    policy_sha256: str = field(init=False)
    limits: Limits = field(init=False)
    terms: Mapping[str, Terms] = field(init=False)

    def __post_init__(self) -> None:
        bound = self.bound
        object.__setattr__(self, "policy_id", bound.policy_id)
        object.__setattr__(self, "policy_sha256", bound.policy_sha256)
        object.__setattr__(self, "limits", bound.limits)
        object.__setattr__(self, "terms", bound.terms)

    @property
    def manifest(self) -> tuple[ManifestEntry, ...]:
        """What the worker builds `caps` from."""
        if not self.learning:
            return self.bound.manifest
        return tuple(terms.manifest_entry for terms in self.bound.terms.values())

    @property
    def manifest_bytes(self) -> msgspec.Raw | None:
        """`manifest` as it travels, if it is that of the policy."""
        return None if self.learning else self.bound.manifest_bytes

    @property
    def terms_sha256(self) -> str:
        return self.bound.terms_sha256

    @property
    def modules(self) -> tuple[str, ...]:
        return self.bound.policy.modules

    def named(self, execution_id: str) -> Grant:
        """The same grant for another execution: the next run of a session."""
        return Grant(
            execution_id=execution_id,
            namespace=self.namespace,
            bound=self.bound,
            revoked=self.revoked,
            learning=self.learning,
        )

    def revoking(self, *capabilities: str) -> Grant:
        """The same grant without `capabilities`."""
        return replace(self, revoked=self.revoked.union(capabilities))

    def for_learning(self) -> Grant:
        """The same grant for an execution that is watched for what it asks."""
        return replace(self, learning=True)
