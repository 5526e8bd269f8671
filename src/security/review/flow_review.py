"""What the review tools ask about flow rules: does one stand between, and is it weaker than before.

A rule that applies earlier (its `after` is a part of another's), or that denies where the other
asks, implies the other. Rules are compared by this, function by function, and not by their ids.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from itertools import product

from caps.security.decision import asking_rules
from caps.security.policies.flow_rules import (
    COMMON_LABELS,
    EGRESS,
    PRIVATE,
    UNTRUSTED,
    BoundFlow,
    marks_of,
)
from caps.security.policy import SecurityPolicy
from caps.security.review.catalogue import granted, json_pointer
from caps.security.terms import CapabilityTerms, GrantTerms


def possible_labels(terms: CapabilityTerms) -> frozenset[str]:
    """Every label that an answer of the capability can have before its provider adds to it."""
    if terms.scope is None:
        return terms.labels
    return terms.labels | terms.scope.possible_labels(terms.name.partition(".")[2])


def known_labels(terms: GrantTerms) -> list[str]:
    """Every label that an answer can have under this policy, sorted, with the common ones."""
    each = (possible_labels(one) for one in terms.terms.values())
    return sorted(COMMON_LABELS.union(*each))


def open_ways(terms: GrantTerms, egress: frozenset[str]) -> Iterator[tuple[str, str, str]]:
    """Functions that give private data, give untrusted content and send, with no rule between.

    A plain approval of the last one counts as a rule: a person sees each call.
    """
    names = sorted(granted(terms))
    private = [name for name in names if PRIVATE in possible_labels(terms.terms[name])]
    untrusted = [name for name in names if UNTRUSTED in possible_labels(terms.terms[name])]
    for secret, page, out in product(private, untrusted, sorted(egress & set(names))):
        # At least this was answered: labels that a scope gives only sometimes do not count.
        answered = frozenset({PRIVATE, UNTRUSTED}).union(
            *(marks_of(name) | terms.terms[name].labels for name in (secret, page))
        )
        last = terms.terms[out]
        denies = any(flow.after <= answered for flow in last.flows if not flow.asks)
        if not denies and not asking_rules(last, answered):
            yield secret, page, out


def implies(rules: tuple[BoundFlow, ...], other: BoundFlow) -> bool:
    """Whether `rules` refuse, or ask, wherever `other` does, and at least as strictly."""
    return any(rule.after <= other.after and (other.asks or not rule.asks) for rule in rules)


def flow_texts(rules: tuple[BoundFlow, ...]) -> list[str]:
    """The rules of a function for people, in one line each."""
    return sorted(
        f"{'approve' if rule.asks else 'deny'} after {' and '.join(sorted(rule.after))}"
        for rule in rules
    )


def marks_in(policy: SecurityPolicy) -> Iterator[tuple[str, str]]:
    """Each label and function that flow rules and tests refer to, with its JSON pointer."""
    for index, rule in enumerate(policy.flows):
        key = "deny" if rule.deny else "approve"
        for position, target in enumerate(rule.targets):
            if target != EGRESS:
                yield target, json_pointer("flows", index, key, position)
    for key, listed in (("flows", policy.flows), ("tests", policy.tests)):
        for index, after in enumerate([one.after for one in listed]):
            for position, mark in enumerate(after):
                yield mark, json_pointer(key, index, "after", position)


def without_marks(policy: SecurityPolicy, unknown: AbstractSet[str]) -> SecurityPolicy:
    """The policy without the flow rules, and the `after` of tests, that refer to `unknown`."""
    flows = [r for r in policy.flows if not unknown & {*r.after, *r.targets}]
    tests = [
        {**test.model_dump(), "after": [mark for mark in test.after if mark not in unknown]}
        for test in policy.tests
    ]
    return policy.model_copy(update={"flows": flows, "tests": tests})
