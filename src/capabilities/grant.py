"""(3) The grant: what one execution may do, fixed before it starts.

`BoundPolicy` is a policy revision applied to a registry: for every registered capability, whether
it is granted and on which terms. It is made once per revision. A grant rests on one or several of
them, its chain (`chain.py`). A `Grant` is that plus an execution, so injection costs the same
however many capabilities there are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import msgspec

from caps.capabilities.provider import Provider, Scope
from caps.capabilities.schemas.schema import CompiledSchema, names_types, worker_schema
from caps.capabilities.spec import CapabilitySpec
from caps.protocol.argument_checks import require
from caps.protocol.messages import ManifestEntry
from caps.security.audit.model.records import Withheld
from caps.security.policies.flow_rules import NO_MARKS, BoundFlow
from caps.security.policies.protected_paths import ProtectedPath
from caps.security.policy import COST, Limits, Rate, SecurityPolicy
from caps.security.reasons import Problem, ReasonCode
from caps.security.terms import PolicyTerms

if TYPE_CHECKING:
    from caps.capabilities.chain import PolicyChain


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundCapability:
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
    labels: frozenset[str] = NO_MARKS
    """What every answer is labelled with, by its specification and the policy."""
    flows: tuple[BoundFlow, ...] = ()
    """The flow rules that cover it."""
    name: str = field(init=False)
    inline: bool = field(init=False)
    """Whether its provider is called inline: see `CapabilitySpec.inline`."""
    may_ask: bool = field(init=False)
    """Whether a rule may ask for an approval, now or after other answers."""
    problems_in: Callable[[Mapping[str, Any]], tuple[Problem, ...]] = field(init=False)
    """See `CapabilityTerms`. The method of its schema itself, as each decision calls it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.spec.name)
        object.__setattr__(self, "inline", self.spec.inline is True)
        may_ask = self.approve is not None or any(flow.asks for flow in self.flows)
        object.__setattr__(self, "may_ask", may_ask)
        object.__setattr__(self, "problems_in", self.schema_in.problems)

    @property
    def manifest_entry(self) -> ManifestEntry:
        """What user space may know of the capability."""
        spec = self.spec
        return ManifestEntry.of(
            name=spec.name,
            schema_in=worker_schema(spec.schema_in),
            title=spec.title,
            description=spec.description,
            schema_out=worker_schema(spec.schema_out) if names_types(spec.schema_out) else None,
            streams=spec.streams,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BoundPolicy:
    """A policy revision applied to a registry. Compared by identity."""

    policy: SecurityPolicy
    source: str
    terms: Mapping[str, BoundCapability]
    granted: tuple[str, ...]
    reasons: Mapping[str, ReasonCode]
    """Why a capability that is registered is not granted, for each of them."""
    manifest: tuple[ManifestEntry, ...]
    terms_sha256: str
    """The digest of the policy and of the places that its scopes resolve to: the same file in
    another directory has the same `policy.sha256`, but other terms."""
    guarded: tuple[ProtectedPath, ...] = ()
    """The paths that its scopes were checked not to reach."""
    # What every decision reads of the policy, copied once.
    policy_id: str = field(init=False)
    policy_sha256: str = field(init=False)
    limits: Limits = field(init=False)
    withheld_records: tuple[Withheld, ...] = field(init=False)
    """`reasons`, as it stands in the record of every start."""
    manifest_bytes: msgspec.Raw = field(init=False, repr=False)
    """The encoded manifest, made once for all executions."""

    def __post_init__(self) -> None:
        withheld = tuple(
            Withheld(capability=name, reason=str(reason)) for name, reason in self.reasons.items()
        )
        for name, value in (
            ("manifest_bytes", msgspec.Raw(msgspec.msgpack.encode(self.manifest))),
            ("withheld_records", withheld),
            ("policy_id", self.policy.id),
            ("policy_sha256", self.policy.sha256),
            ("limits", self.policy.limits),
        ):
            object.__setattr__(self, name, value)


# Costs are counted in millionths: sums of integers are exact.
MILLION: Final = 1_000_000
NO_COSTS: Final[Mapping[str, int]] = MappingProxyType({})


def in_millionths(estimates: Mapping[str, float]) -> Mapping[str, int]:
    """Costs as they are counted, rounded up; what costs nothing is left out.

    By the decimal form: 0.1 means a tenth, and not the binary number next to it. Raises
    ConfigurationError for an estimate that is not a cost.
    """
    for name, cost in estimates.items():
        require(0 <= cost <= COST, f"the cost of `{name}`", cost, f"a number from 0 to {COST:g}")
    found = {n: math.ceil(Decimal(repr(float(cost))) * MILLION) for n, cost in estimates.items()}
    return MappingProxyType({name: cost for name, cost in found.items() if cost})


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What one execution may do. Immutable; revoking returns a new one."""

    execution_id: str
    namespace: str
    chain: PolicyChain
    revoked: frozenset[str] = field(default=frozenset())
    uncarded: frozenset[str] = field(default=frozenset())
    """Without a valid tool card, as the registry knew it when the execution started."""
    costs: Mapping[str, int] = field(default_factory=lambda: NO_COSTS)
    """What a call of each function costs, in millionths, by the tool cards in force."""
    budget: float | None = None
    """Lowers `limits.cost` for this execution."""
    learning: bool = False
    """User space also gets wrappers for what is withheld, so that its attempts reach the broker,
    which refuses and records them as usual. This widens the manifest, never a decision."""
    # What every decision reads of the policies, copied once.
    policy_id: str = field(init=False)
    policy_sha256: str = field(init=False)
    limits: Limits = field(init=False)
    terms: Mapping[str, BoundCapability] = field(init=False)
    links: tuple[PolicyTerms, ...] = field(init=False)

    def __post_init__(self) -> None:
        chain = self.chain
        own = chain.policies[-1]
        object.__setattr__(self, "policy_id", own.policy_id)
        object.__setattr__(self, "policy_sha256", own.policy_sha256)
        limits = chain.limits
        if self.budget is not None and self.budget < limits.cost:
            limits = limits.model_copy(update={"cost": self.budget})
        object.__setattr__(self, "limits", limits)
        object.__setattr__(self, "terms", chain.terms)
        object.__setattr__(self, "links", chain.links)

    @property
    def manifest(self) -> tuple[ManifestEntry, ...]:
        """The worker builds `caps` from this."""
        if not self.learning:
            return self.chain.manifest
        return tuple(terms.manifest_entry for terms in self.terms.values())

    @property
    def manifest_bytes(self) -> msgspec.Raw | None:
        """The encoded `manifest`, if it is that of the policies."""
        return None if self.learning else self.chain.manifest_bytes

    @property
    def terms_sha256(self) -> str:
        return self.chain.terms_sha256

    @property
    def modules(self) -> tuple[str, ...]:
        return self.chain.modules

    def named(self, execution_id: str) -> Grant:
        """The same grant for another execution: the next run of a session."""
        return Grant(
            execution_id=execution_id,
            namespace=self.namespace,
            chain=self.chain,
            revoked=self.revoked,
            uncarded=self.uncarded,
            costs=self.costs,
            budget=self.budget,
            learning=self.learning,
        )

    def revoking(self, *capabilities: str) -> Grant:
        """The same grant without `capabilities`."""
        return replace(self, revoked=self.revoked.union(capabilities))

    def for_learning(self) -> Grant:
        """The same grant for an execution that is observed to learn what it asks for."""
        return replace(self, learning=True)
