"""(3) The policies that a grant rests on. Each must allow, so one that is added only takes away.

A `PolicyChain` is a tuple of bound policies, the ceiling first and the caller's own last, with what
follows from all of them together: a capability is granted if none withholds it, the lowest limit
counts, real modules are those that all grant, and a call must lie in the scope of each. It is made
once for the same policies. Whether a call is allowed is not decided here but in
`security/decision.py`, which asks each policy by itself.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

import msgspec
import rfc8785

from caps.capabilities.grant import BoundCapability, BoundPolicy
from caps.protocol.errors import PolicyInvalidError
from caps.protocol.messages import ManifestEntry
from caps.security.audit.model.records import PolicyName, Withheld
from caps.security.policies.flow_rules import NO_MARKS
from caps.security.policies.modules import covers
from caps.security.policies.names import domain_of
from caps.security.policy import Limits
from caps.security.scopes import AllScopes, Scope
from caps.security.terms import PolicyTerms

# Each decision asks all of them.
MAX_POLICIES: Final = 16
_CHAIN_DOMAIN = b"caps.chain.v1\0"
_KEPT_CHAINS = 64


class _Link(msgspec.Struct, frozen=True, kw_only=True):
    """One policy of a chain, whose scopes follow the later policies."""

    policy_id: str
    policy_sha256: str
    limits: Limits
    terms: Mapping[str, BoundCapability]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PolicyChain:
    """One or several policies, applied to a registry; see `chain_of`."""

    policies: tuple[BoundPolicy, ...]
    links: tuple[PolicyTerms, ...]
    """What a decision asks: the policies, or the same with scopes that follow later ones."""
    limits: Limits
    """The lowest of each; rates are counted for each policy."""
    terms: Mapping[str, BoundCapability]
    """The capabilities under all policies: withheld if one withholds it, and so on."""
    granted: tuple[str, ...]
    manifest: tuple[ManifestEntry, ...]
    manifest_bytes: msgspec.Raw = field(repr=False)
    withheld_records: tuple[Withheld, ...]
    terms_sha256: str
    modules: tuple[str, ...]
    rated: frozenset[str]
    """The capabilities that have a rate in one of the policies."""
    policy_ids: str = field(init=False)
    """The ids of all policies, for people."""

    def __post_init__(self) -> None:
        ids = ", ".join(bound.policy_id for bound in self.policies)
        object.__setattr__(self, "policy_ids", ids)

    @property
    def own(self) -> BoundPolicy:
        """The last policy."""
        return self.policies[-1]

    @property
    def recorded_policies(self) -> list[PolicyName]:
        """For the record of a start, which names one policy anyway: empty if there is only one."""
        if len(self.policies) == 1:
            return []
        return [PolicyName(id=each.policy_id, sha256=each.policy_sha256) for each in self.policies]

    def withheld_by(self, name: str) -> BoundPolicy | None:
        """The first policy that withholds a registered capability."""
        found = (each for each in self.policies if name in each.reasons)
        return next(found, None)


def check_length(count: int) -> None:
    """PolicyInvalidError unless a grant can rest on `count` policies."""
    if count == 0:
        raise PolicyInvalidError(
            "the list of policies is empty; name at least one policy", source="list"
        )
    if count > MAX_POLICIES:
        raise PolicyInvalidError(
            f"the list has {count} policies; name at most {MAX_POLICIES}", source="list"
        )


@functools.lru_cache(maxsize=_KEPT_CHAINS)
def chain_of(*policies: BoundPolicy) -> PolicyChain:
    """The chain of these policies, the ceiling first. PolicyInvalidError if there is none.

    A policy that is given twice counts once, where it comes last. PolicyInvalidError also if two
    are bound to different registries.
    """
    check_length(len(policies))
    policies = tuple(reversed(dict.fromkeys(reversed(policies))))
    own = policies[-1]
    if len(policies) == 1:
        return _chain_of_one(own)
    for bound in policies[:-1]:
        _check_same_functions(bound, own)
    links = tuple(_link(bound, policies[i:]) for i, bound in enumerate(policies, start=1))
    names = [name for name in own.terms if all(name in link.terms for link in links)]
    terms = {name: _combined(links, name) for name in names}
    granted = tuple(name for name in names if terms[name].withheld is None)
    manifest = tuple(terms[name].manifest_entry for name in granted)
    return PolicyChain(
        policies=policies,
        links=links,
        limits=lowest_limits(*(bound.limits for bound in policies)),
        terms=MappingProxyType(terms),
        granted=granted,
        manifest=manifest,
        manifest_bytes=msgspec.Raw(msgspec.msgpack.encode(manifest)),
        withheld_records=_withheld(policies, names),
        terms_sha256=_digest(policies),
        modules=_common_modules(policies),
        rated=frozenset(n for n in names if any(link.terms[n].rate for link in links)),
    )


def _check_same_functions(bound: BoundPolicy, own: BoundPolicy) -> None:
    """The policies must be about the same functions: a name alone says nothing of what is called.

    One that was bound earlier may lack functions that were registered since.
    """
    for name, terms in own.terms.items():
        other = bound.terms.get(name)
        if other is not None and other.provider is not terms.provider:
            raise PolicyInvalidError(
                f"policy `{own.source}`: `{name}` is another function than under policy "
                f"`{bound.source}`; bind both to the same registry",
                source=own.source,
            )


def _chain_of_one(bound: BoundPolicy) -> PolicyChain:
    return PolicyChain(
        policies=(bound,),
        links=(bound,),
        limits=bound.limits,
        terms=bound.terms,
        granted=bound.granted,
        manifest=bound.manifest,
        manifest_bytes=bound.manifest_bytes,
        withheld_records=bound.withheld_records,
        terms_sha256=bound.terms_sha256,
        modules=bound.policy.modules,
        rated=frozenset(name for name in bound.terms if bound.limits.rate_for(name)),
    )


def lowest_limits(*limits: Limits) -> Limits:
    """The lowest limit of each kind. `rates` is empty: each policy counts its own."""
    kinds = [name for name in Limits.model_fields if name != "rates"]
    return Limits(**{kind: min(getattr(each, kind) for each in limits) for kind in kinds})


def _link(bound: BoundPolicy, later: tuple[BoundPolicy, ...]) -> _Link:
    scopes = _followed_scopes(bound, later)
    return _Link(
        policy_id=bound.policy_id,
        policy_sha256=bound.policy_sha256,
        limits=bound.limits,
        terms={
            name: replace(terms, scope=scopes.get(domain_of(name)))
            for name, terms in bound.terms.items()
        },
    )


def _followed_scopes(bound: BoundPolicy, later: tuple[BoundPolicy, ...]) -> dict[str, Scope]:
    """The scopes of `bound` by domain, each following those of all later policies."""
    found: dict[str, Scope] = {}
    for name, terms in bound.terms.items():
        domain, scope = domain_of(name), terms.scope
        if scope is None or domain in found:
            continue
        for own in later:
            leader = own.terms[name].scope if name in own.terms else None
            if leader is not None:
                scope = _following(bound, domain, scope, leader)
        found[domain] = scope
    return found


def _following(bound: BoundPolicy, domain: str, scope: Scope, leader: Scope) -> Scope:
    try:
        found: object = scope.following(leader)
        problem = "`following` must return a scope of the same model"
    except Exception as error:  # noqa: BLE001 - the model may be anybody's code
        found, problem = None, f"the scope model failed with `{type(error).__name__}`"
    if not isinstance(found, type(scope)):
        place = f"scopes.{domain}"
        message = f"policy `{bound.source}`: {problem} at {place}"
        raise PolicyInvalidError(message, source=bound.source, place=place)
    return found


def _combined(links: tuple[_Link, ...], name: str) -> BoundCapability:
    """The capability under all policies. What cannot be combined is asked of each link instead."""
    each = [link.terms[name] for link in links]
    scopes = [terms.scope for terms in each if terms.scope is not None]
    scope = None
    if len(scopes) == len(each):  # else it is withheld, or takes no scope
        ids = tuple(link.policy_id for link in links)
        scope = AllScopes(parts=tuple(scopes), policy_ids=ids)
    return replace(
        each[-1],
        withheld=next((terms.withheld for terms in each if terms.withheld is not None), None),
        approve=next((terms.approve for terms in each if terms.approve is not None), None),
        scope=scope,
        labels=NO_MARKS.union(*(terms.labels for terms in each)),
        flows=tuple(flow for terms in each for flow in terms.flows),
    )


def _withheld(policies: tuple[BoundPolicy, ...], names: list[str]) -> tuple[Withheld, ...]:
    """Each capability that a policy withholds, with the first policy that does."""
    first: dict[str, Withheld] = {}
    for bound in policies:
        for name, reason in bound.reasons.items():
            if name in names and name not in first:
                first[name] = Withheld(
                    capability=name, reason=str(reason), policy_id=bound.policy_id
                )
    return tuple(first[name] for name in names if name in first)


def _digest(policies: tuple[BoundPolicy, ...]) -> str:
    canonical = rfc8785.dumps([bound.terms_sha256 for bound in policies])
    return hashlib.sha256(_CHAIN_DOMAIN + canonical).hexdigest()


def _common_modules(policies: tuple[BoundPolicy, ...]) -> tuple[str, ...]:
    """Each must grant a module, or a package that contains it."""
    each = [bound.policy.modules for bound in policies]
    named = sorted({name for modules in each for name in modules})
    return tuple(name for name in named if all(covers(modules, name) for modules in each))
