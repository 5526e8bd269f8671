"""Problems of several policies together, of which each must allow; `lint` finds those of each.

That two policies together grant nothing, or that one allows what another withholds, is valid: a
ceiling is there to take away. It is worth a look all the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from caps.protocol.errors import PolicyInvalidError
from caps.security.policies.load import LoadedPolicy
from caps.security.policies.protected_paths import ProtectedPath
from caps.security.review.catalogue import Catalogue, PolicyTerms, granted, rule_place, written_form
from caps.security.review.lint import lint, trifecta
from caps.security.review.lint_codes import Finding, LintCode, finding

# Not found for a policy alone: another one may hold the rule that it lacks.
_JOINT = frozenset({LintCode.LETHAL_TRIFECTA.value})


def lint_chain(
    catalogue: Catalogue,
    loaded: Sequence[LoadedPolicy],
    *,
    written: Sequence[Mapping[str, Any] | None],
    protected: Sequence[ProtectedPath] = (),
) -> tuple[Finding, ...]:
    """The findings of each policy, each with its id, then those of all of them together."""
    found: list[Finding] = []
    for policy, document in zip(loaded, written, strict=True):
        alone = lint(catalogue, policy, written=document, protected=protected)
        found += [replace(one, policy=policy.policy.id) for one in alone if one.code not in _JOINT]
    return (*found, *_together(catalogue, loaded, written))


def _together(
    catalogue: Catalogue,
    loaded: Sequence[LoadedPolicy],
    written: Sequence[Mapping[str, Any] | None],
) -> Iterator[Finding]:
    try:
        each = [catalogue.terms_of(policy) for policy in loaded]
    except PolicyInvalidError:
        return  # `lint` has said what is wrong with one of them
    common = frozenset.intersection(*(granted(terms) for terms in each))
    ids = ", ".join(f"`{terms.policy_id}`" for terms in each)
    if not common and all(granted(terms) for terms in each):
        message = f"policies {ids} grant nothing together, though each grants something"
        remedy = "allow the same capabilities in all of them"
        yield replace(
            finding(LintCode.NOTHING_TOGETHER, "/allow", message, remedy), policy=each[-1].policy_id
        )
    for one in trifecta(catalogue, catalogue.terms_of(*loaded)):
        yield replace(one, policy=each[-1].policy_id)
    for policy, terms, document in zip(loaded, each, written, strict=True):
        place = written_form(policy.policy) if document is None else document
        yield from _withheld_by_others(terms, each, place)


def _withheld_by_others(
    terms: PolicyTerms, each: Sequence[PolicyTerms], written: Mapping[str, Any]
) -> Iterator[Finding]:
    for name in sorted(granted(terms)):
        # The first that withholds it, as in a decision.
        other = next((one for one in each if one.terms[name].withheld is not None), None)
        rule = terms.terms[name].rule
        if other is None or rule is None:
            continue
        why = other.terms[name].withheld
        message = f"`{name}` is allowed here and withheld by policy `{other.policy_id}` ({why})"
        found = finding(
            LintCode.WITHHELD_BY_ANOTHER,
            rule_place(written, "allow", rule),
            message,
            "remove it here, or allow it there, if that was not meant",
        )
        yield replace(found, policy=terms.policy_id)
