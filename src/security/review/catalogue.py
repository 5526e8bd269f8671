"""What is registered, as the tools that review policies see it. The registry is a catalogue."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from msgspec.structs import replace

from caps.security.decision import Decision, decide
from caps.security.policies.deny_rules import RuleMode
from caps.security.policies.flow_rules import marks_after
from caps.security.policies.load import LoadedPolicy
from caps.security.policies.names import domain_of
from caps.security.policies.protected_paths import (
    ProtectedPath,
    ProtectedPathReached,
    first_reached,
)
from caps.security.policy import SecurityPolicy
from caps.security.request import NOTHING_USED, Request
from caps.security.scopes import Scope
from caps.security.terms import GrantTerms


class DomainFacts(Protocol):
    """A domain; one without a scope model takes no scope."""

    @property
    def scope(self) -> type[Scope] | None: ...


class PolicyTerms(GrantTerms, Protocol):
    """A policy applied to everything in a catalogue, with a digest."""

    @property
    def terms_sha256(self) -> str:
        """The digest of the policy and of the absolute paths of its scopes."""


class Catalogue(Protocol):
    """Every capability and domain, and what a policy grants of them."""

    @property
    def domains(self) -> Mapping[str, DomainFacts]: ...
    @property
    def capabilities(self) -> Mapping[str, Any]:
        """By name; each has a `spec` that says whether it is `egress`."""

    def terms_of(self, *loaded: LoadedPolicy) -> PolicyTerms:
        """Bind the policies, of which each must allow, without running their tests.

        Raises PolicyInvalidError.
        """


def first_decision(
    terms: GrantTerms, capability: str, payload: Mapping[str, Any], after: Iterable[str] = ()
) -> Decision:
    """The decision for an execution that has used nothing; `after`: labels and functions that it
    was answered before."""
    usage = replace(NOTHING_USED, answered=marks_after(terms.terms, after))
    return decide(terms, Request(capability, payload), usage)


def granted(terms: GrantTerms) -> frozenset[str]:
    """The capabilities that are not withheld."""
    return frozenset(name for name, term in terms.terms.items() if term.withheld is None)


def scope_of(terms: GrantTerms, domain: str) -> Scope | None:
    """The scope that the policy gives `domain`, with absolute paths."""
    found = (term.scope for name, term in terms.terms.items() if domain_of(name) == domain)
    return next(found, None)


def functions_of(terms: GrantTerms, domain: str) -> frozenset[str]:
    """The functions of `domain` that are not withheld."""
    names = (name for name in granted(terms) if domain_of(name) == domain)
    return frozenset(name.partition(".")[2] for name in names)


def reached_by(
    terms: GrantTerms, domain: str, protected: Iterable[ProtectedPath]
) -> ProtectedPathReached | None:
    """The first protected path that could be changed through `domain`."""
    scope = scope_of(terms, domain)
    if scope is None:
        return None
    return first_reached(scope.writable_directories(functions_of(terms, domain)), protected)


def covered_by(rule: str, names: Iterable[str]) -> frozenset[str]:
    """The capabilities among `names` that `rule` covers."""
    if not rule.endswith(".*"):
        return frozenset({rule} & set(names))
    return frozenset(name for name in names if domain_of(name) == rule[:-2])


def written_form(policy: SecurityPolicy) -> dict[str, Any]:
    """The policy as JSON with defaults left out, as a person would write it."""
    return policy.model_dump(mode="json", exclude_defaults=True)


def json_pointer(*steps: str | int) -> str:
    """A JSON pointer (RFC 6901)."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)


def rule_place(
    written: Mapping[str, Any], key: str, rule: str, mode: RuleMode = RuleMode.ENFORCE
) -> str:
    """The JSON pointer to `rule`, in this mode, in the list `key` of the policy's JSON."""
    for index, entry in enumerate(written.get(key, ())):
        plain = not isinstance(entry, Mapping)
        found = (entry, RuleMode.ENFORCE) if plain else (entry.get("rule"), entry.get("mode"))
        if found == (rule, mode):
            return json_pointer(key, index)
    return json_pointer(key)
