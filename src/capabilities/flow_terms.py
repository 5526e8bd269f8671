"""(3) Flow rules set against the registry: what each refers to, and which cover a capability."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from caps.capabilities.spec import CapabilitySpec
from caps.security.policies.flow_rules import COMMON_LABELS, EGRESS, BoundFlow, given_labels
from caps.security.policy import SecurityPolicy
from caps.security.scopes import Scope


def bound_flows(policy: SecurityPolicy, spec: CapabilitySpec) -> tuple[BoundFlow, ...]:
    """The flow rules of `policy` that cover the capability, in their order."""
    return tuple(
        BoundFlow(rule.id, frozenset(rule.after), bool(rule.approve))
        for rule in policy.flows
        if rule.covers(spec.name, egress=spec.egress)
    )


def functions_in_flows(policy: SecurityPolicy) -> list[tuple[str, str]]:
    """Every function (or `domain.*`) that flow rules and tests refer to, with its place."""
    targets = [
        (f"flows[{index}].{'deny' if rule.deny else 'approve'}[{position}]", target)
        for index, rule in enumerate(policy.flows)
        for position, target in enumerate(rule.targets)
        if target != EGRESS
    ]
    return [*targets, *((place, mark) for place, mark in _marks(policy) if "." in mark)]


def labels_in_flows(policy: SecurityPolicy) -> list[tuple[str, str]]:
    """Every label that flow rules and tests refer to, with its place."""
    return [(place, mark) for place, mark in _marks(policy) if "." not in mark]


def _marks(policy: SecurityPolicy) -> Iterator[tuple[str, str]]:
    lists = [(f"flows[{index}]", rule.after) for index, rule in enumerate(policy.flows)]
    lists += [(f"tests[{index}]", test.after) for index, test in enumerate(policy.tests)]
    for place, after in lists:
        for position, mark in enumerate(after):
            yield f"{place}.after[{position}]", mark


def known_labels(
    policy: SecurityPolicy, specs: Iterable[CapabilitySpec], scopes: Mapping[str, Scope]
) -> frozenset[str]:
    """Every label that a specification, a scope or the policy can give, and the common ones.

    ValueError if a scope returns something else.
    """
    found = {*COMMON_LABELS, *(label for labels in policy.labels.values() for label in labels)}
    for spec in specs:
        found.update(spec.labels)
        if spec.domain in scopes:
            found |= given_labels(scopes[spec.domain].possible_labels(spec.function))
    return frozenset(found)
