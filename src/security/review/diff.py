"""What one policy allows compared to another, by its effect and not by how it is written.

Rules are compared by their effect on each registered capability, scopes by what they reach, limits
by their size. A difference without effect (the scope of a domain of which no capability is granted
in both policies) is listed and does not count. The verdict is the join of all that count.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from caps.security.policies.load import LoadedPolicy
from caps.security.policies.modules import covers
from caps.security.policies.names import domain_of
from caps.security.policy import Limits, Rate, SecurityPolicy
from caps.security.review.catalogue import Catalogue, scope_of
from caps.security.review.flow_review import flow_texts, implies
from caps.security.review.width import Breadth, join, width_of
from caps.security.terms import GrantTerms

_LIMITS = tuple(name for name in Limits.model_fields if name != "rates")


class Standing(enum.StrEnum):
    """What a policy decides about a capability before any payload is checked."""

    WITHHELD = "withheld"
    APPROVAL = "approval"
    GRANTED = "granted"

    @property
    def rank(self) -> int:
        """A larger rank allows more."""
        return list(Standing).index(self)


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference: its place, the values before and after, and whether it allows more."""

    place: str
    before: Any
    after: Any
    width: Breadth
    counts: bool = True
    """False: it has no effect in either policy."""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyDiff:
    """How the second policy differs from the first."""

    capabilities: tuple[Difference, ...]
    tried_out: tuple[Difference, ...]
    """Rules of `deny` in dry run: they change only what is recorded."""
    modules: tuple[Difference, ...]
    scopes: tuple[Difference, ...]
    limits: tuple[Difference, ...]
    flows: tuple[Difference, ...]
    """Flow rules and labels, by the function that they are about."""
    tests_added: int
    tests_removed: int

    @property
    def verdict(self) -> Breadth:
        """What the second policy allows compared to the first."""
        return join(difference.width for difference in self.all if difference.counts)

    @property
    def all(self) -> tuple[Difference, ...]:
        rules = (*self.capabilities, *self.tried_out, *self.modules, *self.scopes)
        return (*rules, *self.limits, *self.flows)

    @property
    def gained(self) -> tuple[str, ...]:
        return tuple(d.place for d in self.capabilities if d.width is Breadth.WIDER)

    @property
    def lost(self) -> tuple[str, ...]:
        return tuple(d.place for d in self.capabilities if d.width is Breadth.NARROWER)


def diff(catalogue: Catalogue, older: LoadedPolicy, newer: LoadedPolicy) -> PolicyDiff:
    """How `newer` differs from `older`. Raises `PolicyInvalidError` if one is invalid."""
    one = _Side(older.policy, catalogue.terms_of(older))
    other = _Side(newer.policy, catalogue.terms_of(newer))
    old_tests = [test.model_dump_json() for test in older.policy.tests]
    new_tests = [test.model_dump_json() for test in newer.policy.tests]
    return PolicyDiff(
        capabilities=tuple(_capabilities(one, other)),
        tried_out=tuple(_dry_run_rules(older.policy, newer.policy)),
        modules=tuple(_modules(older.policy, newer.policy)),
        scopes=tuple(_scopes(catalogue, one, other)),
        limits=(*_limits(older.policy.limits, newer.policy.limits), *_rates(one, other)),
        flows=(*_flows(one, other), *_labels(one, other)),
        tests_added=sum(test not in old_tests for test in new_tests),
        tests_removed=sum(test not in new_tests for test in old_tests),
    )


@dataclass(frozen=True, slots=True)
class _Side:
    """One of the two policies, applied to everything in the catalogue."""

    policy: SecurityPolicy
    terms: GrantTerms

    def standing(self, capability: str) -> Standing:
        """What the policy decides about `capability`."""
        withheld = self.terms.terms[capability].withheld
        if withheld is not None:
            return Standing.WITHHELD
        approve = self.terms.terms[capability].approve
        return Standing.GRANTED if approve is None else Standing.APPROVAL

    def granted_of(self, domain: str) -> set[str]:
        """The capabilities of `domain` that are not withheld."""
        return {
            name
            for name in self.terms.terms
            if domain_of(name) == domain and self.standing(name) is not Standing.WITHHELD
        }


def _capabilities(before: _Side, after: _Side) -> Iterator[Difference]:
    for name, terms in after.terms.terms.items():
        was, now = before.standing(name), after.standing(name)
        if was is not now:
            width = Breadth.WIDER if now.rank > was.rank else Breadth.NARROWER
            yield Difference(name, was.value, now.value, width, note=str(terms.withheld or ""))


def _dry_run_rules(before: SecurityPolicy, after: SecurityPolicy) -> Iterator[Difference]:
    for rule in sorted({*before.dry_run, *after.dry_run}):
        was, now = rule in before.dry_run, rule in after.dry_run
        if was is not now:
            old, new = ("dry_run" if listed else None for listed in (was, now))
            note = "a rule in dry run denies nothing"
            yield Difference(f"deny.{rule}", old, new, Breadth.SAME, False, note)


def _modules(before: SecurityPolicy, after: SecurityPolicy) -> Iterator[Difference]:
    """A real module is outside the language layer: granting one always allows more."""
    for name in sorted({*before.modules, *after.modules}):
        was, now = covers(before.modules, name), covers(after.modules, name)
        if was is not now:
            width = Breadth.WIDER if now else Breadth.NARROWER
            yield Difference(f"modules.{name}", _standing(was), _standing(now), width)


def _standing(granted: bool) -> str:
    return (Standing.GRANTED if granted else Standing.WITHHELD).value


def _scopes(catalogue: Catalogue, before: _Side, after: _Side) -> Iterator[Difference]:
    for domain in catalogue.domains:
        old, new = scope_of(before.terms, domain), scope_of(after.terms, domain)
        if old is None or new is None:
            # A scope that was added or removed shows in the standing of each capability.
            continue
        granted = before.granted_of(domain) & after.granted_of(domain)
        dumped_old, dumped_new = old.model_dump(mode="json"), new.model_dump(mode="json")
        for key, width in old.widths_to(new).items():
            if dumped_old.get(key) == dumped_new.get(key):
                continue
            yield Difference(
                f"scopes.{domain}.{key}",
                dumped_old.get(key),
                dumped_new.get(key),
                width,
                counts=bool(granted),
                note="" if granted else "nothing of the domain is granted in both",
            )


def _limits(before: Limits, after: Limits) -> Iterator[Difference]:
    for name in _LIMITS:
        was, now = getattr(before, name), getattr(after, name)
        if was != now:
            width = width_of(more=now > was, less=now < was)
            yield Difference(f"limits.{name}", was, now, width)


def _rates(before: _Side, after: _Side) -> Iterator[Difference]:
    for name, terms in after.terms.terms.items():
        was, now = before.terms.terms[name].rate, terms.rate
        if was == now:
            continue
        width = width_of(more=not _implies(now, was), less=not _implies(was, now))
        counts = Standing.WITHHELD not in (before.standing(name), after.standing(name))
        note = "" if counts else "the capability is not granted in both"
        place = f"limits.rates.{name}"
        yield Difference(place, _rate_text(was), _rate_text(now), width, counts, note)


def _flows(before: _Side, after: _Side) -> Iterator[Difference]:
    """A rule that is gone, or that applies later or asks where it denied, is wider."""
    for name, terms in after.terms.terms.items():
        was, now = before.terms.terms[name].flows, terms.flows
        old, new = flow_texts(was), flow_texts(now)
        if old == new:
            continue
        width = width_of(
            more=any(not implies(now, rule) for rule in was),
            less=any(not implies(was, rule) for rule in now),
        )
        counts = Standing.WITHHELD not in (before.standing(name), after.standing(name))
        note = "" if counts else "the capability is not granted in both"
        yield Difference(f"flows.{name}", old, new, width, counts, note)


def _labels(before: _Side, after: _Side) -> Iterator[Difference]:
    """A function that gives fewer labels is wider, if a flow rule is about them."""
    used = {
        mark
        for side in (before, after)
        for terms in side.terms.terms.values()
        for flow in terms.flows
        for mark in flow.after
    }
    for name, terms in after.terms.terms.items():
        was, now = before.terms.terms[name].labels, terms.labels
        if was == now:
            continue
        width = width_of(more=not was <= now, less=not now <= was)
        granted = Standing.WITHHELD not in (before.standing(name), after.standing(name))
        counts = granted and bool(used & (was ^ now))
        note = "" if counts else "no flow rule is about it, or it is not granted in both"
        yield Difference(f"labels.{name}", sorted(was), sorted(now), width, counts, note)


def _rate_text(rate: Rate | None) -> str | None:
    return None if rate is None else str(rate)


def _implies(one: Rate | None, other: Rate | None) -> bool:
    """Whether calls within `one` are within `other`; a period is a multiple of any shorter one."""
    if other is None:
        return True
    if one is None:
        return False
    return one.count * max(1, other.period_s // one.period_s) <= other.count
