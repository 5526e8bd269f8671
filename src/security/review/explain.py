"""Which rule decided about a call, and the smallest change of the policy that would allow it.

The change is found by making it: the decision names what refuses the call, the narrowest change
against that is made in the policy's JSON, and the decision is made again, until the call is allowed
or no change of the policy helps. So a suggestion is never a guess, and its patch (RFC 6902) can be
applied directly. Narrowest means: the capability itself and never its domain, the nearest
directory, one name taken out of a `domain.*` that denies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from caps.security.decision import Decision
from caps.security.policies.flow_rules import marks_after
from caps.security.policies.load import LoadedPolicy, listed
from caps.security.policies.names import domain_of
from caps.security.policies.plain_json import plain_json
from caps.security.policy import SecurityPolicy
from caps.security.reasons import ReasonCode
from caps.security.request import Request
from caps.security.review.catalogue import (
    Catalogue,
    covered_by,
    first_decision,
    granted,
    json_pointer,
    reached_by,
    rule_place,
    written_form,
)
from caps.security.review.policy_tests import run_tests
from caps.security.review.scope_answers import ObservedArguments
from caps.security.scopes import Scope
from caps.security.terms import GrantTerms
from caps.security.terms import PolicyTerms as LinkTerms

# A rule of each kind can refuse the call once, and so can each key of a scope.
_MAX_STEPS = 16

_NOTHING_HELPS: Final[Mapping[ReasonCode, str]] = {
    ReasonCode.UNKNOWN_CAPABILITY: "no policy can allow what is not registered",
    ReasonCode.PAYLOAD_INVALID: "no policy can allow a payload that does not fit the schema",
    ReasonCode.INTERNAL_ERROR: "the rules could not be evaluated, and no policy changes that",
}


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a policy: as text, as a patch, and what else it allows."""

    says: str
    patch: tuple[dict[str, Any], ...]
    opens: str
    policy: str | None = None
    """The id of the policy to change, if there are several."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The decision, and the changes that would allow the call.

    `changes` is empty if the call is allowed already. If no change helps, `hopeless` says why.
    `breaks` are the embedded tests (by index) that would fail after the changes, and `breaks_of`
    the policies that they are of: ids if there are several policies, else None for each.
    """

    decision: Decision
    changes: tuple[Change, ...] = ()
    hopeless: str | None = None
    breaks: tuple[int, ...] = ()
    breaks_of: tuple[str | None, ...] = ()
    policy: SecurityPolicy | None = None
    """The changed policy, if the changes allow the call; of several the last one."""
    flows: tuple[FlowFact, ...] = ()
    """The flow rules that cover the call."""
    given: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """For each function that was answered before, the labels that its answers have."""
    labels: tuple[str, ...] = ()
    """The labels that the answer of the call would have."""


@dataclass(frozen=True, slots=True)
class FlowFact:
    """A flow rule that covers a call, and what of its `after` was not answered yet."""

    rule: str
    effect: str
    after: tuple[str, ...]
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _PolicyChange:
    """What a change starts from: the policy so far, and the decision that refuses the call."""

    catalogue: Catalogue
    loaded: LoadedPolicy
    terms: GrantTerms
    scope: Scope | None
    """Of the capability under this policy, as it is asked in the grant."""
    written: dict[str, Any]
    request: Request
    decision: Decision


def explain(
    catalogue: Catalogue,
    loaded: LoadedPolicy | Sequence[LoadedPolicy],
    request: Request,
    *,
    written: Mapping[str, Any] | Sequence[Mapping[str, Any] | None] | None = None,
    after: Sequence[str] = (),
) -> Explanation:
    """Explain the decision about `request` of a policy, or of several of which each must allow.

    `written` is the JSON of each, for the patch; `after` are the labels and functions that were
    answered before. Raises `PolicyInvalidError` if a policy does not fit the catalogue.
    """
    policies = list(listed(loaded))
    given = written if isinstance(written, (list, tuple)) else [written] * len(policies)
    documents = [
        plain_json(written_form(each.policy) if document is None else document)
        for each, document in zip(policies, given, strict=True)
    ]
    before = list(policies)
    about = _flow_facts(catalogue.terms_of(*policies), request, after)
    first, changes = None, list[Change]()
    while True:
        grant = catalogue.terms_of(*policies)
        decision = first_decision(grant, request.capability, request.payload, after)
        first = first or decision
        if decision.allowed:
            break
        index = [link.policy_sha256 for link in grant.links].index(decision.policy_sha256)
        terms, scope = catalogue.terms_of(policies[index]), _scope_in(grant.links[index], request)
        step = _PolicyChange(
            catalogue, policies[index], terms, scope, documents[index], request, decision
        )
        change = _change(step)
        if change is None or len(changes) == _MAX_STEPS:
            return Explanation(decision=first, hopeless=_why_hopeless(decision), **about)
        documents[index], policies[index] = _patched(step, change.patch)
        change = _with_risk(step, change, catalogue.terms_of(policies[index]))
        several = len(policies) > 1
        changes.append(replace(change, policy=decision.policy_id if several else None))
    breaks = list(_broken_tests(catalogue, before, policies))
    return Explanation(
        decision=first,
        changes=tuple(changes),
        breaks=tuple(index for index, _ in breaks),
        breaks_of=tuple(policy_id for _, policy_id in breaks),
        policy=policies[-1].policy,
        **about,
    )


def _scope_in(link: LinkTerms, request: Request) -> Scope | None:
    terms = link.terms.get(request.capability)
    return None if terms is None else terms.scope


def _broken_tests(
    catalogue: Catalogue, before: Sequence[LoadedPolicy], after: Sequence[LoadedPolicy]
) -> Iterator[tuple[int, str | None]]:
    """The tests of the changed policies that fail now: index, and id if there are several."""
    for older, newer in zip(before, after, strict=True):
        if newer is older and len(after) > 1:
            continue
        terms = catalogue.terms_of(newer)
        for outcome in run_tests(terms, newer.policy.tests, source=newer.source):
            if not outcome.passed:
                yield outcome.index, newer.policy.id if len(after) > 1 else None


def _flow_facts(terms: GrantTerms, request: Request, after: Sequence[str]) -> dict[str, Any]:
    """The fields of an explanation that are about flows, under the policy as it is."""
    found = terms.terms.get(request.capability)
    answered = marks_after(terms.terms, after)
    decision = first_decision(terms, request.capability, request.payload)
    return {
        "flows": tuple(
            FlowFact(
                flow.rule,
                "approve" if flow.asks else "deny",
                tuple(sorted(flow.after)),
                tuple(sorted(flow.after - answered)),
            )
            for flow in (found.flows if found is not None else ())
        ),
        "given": tuple(
            (mark, tuple(sorted(terms.terms[mark].labels))) for mark in after if mark in terms.terms
        ),
        "labels": tuple(sorted(decision.labels)),
    }


def _patched(
    step: _PolicyChange, patch: tuple[dict[str, Any], ...]
) -> tuple[dict[str, Any], LoadedPolicy]:
    """The policy with `patch` applied: its JSON, and the loaded policy."""
    document: dict[str, Any] = plain_json(step.written)
    for operation in patch:
        _apply(document, operation)
    return document, replace(step.loaded, policy=SecurityPolicy.model_validate(document))


def _with_risk(step: _PolicyChange, change: Change, after: GrantTerms) -> Change:
    """The change, with a warning if code could change its own policy because of it."""
    domain, protected = domain_of(step.request.capability), step.loaded.protected
    reached = reached_by(after, domain, protected)
    if reached is None or reached_by(step.terms, domain, protected) is not None:
        return change
    risk = f"; and {reached.message}: no runtime takes such a policy, keep the two apart"
    return replace(change, opens=change.opens + risk)


def _why_hopeless(decision: Decision) -> str:
    known = _NOTHING_HELPS.get(decision.reason)
    if known is not None:
        return known
    if _is_by_flow(decision):
        return (
            f"rule `{decision.rule}` judges what was read before; make the call first, or in "
            "another session"
        )
    detail = f": {decision.detail}" if decision.detail else ""
    return f"no change of `{decision.rule}` is known that allows it{detail}"


def _change(step: _PolicyChange) -> Change | None:
    """The narrowest change against what refuses the call; None if there is none."""
    match step.decision.reason:
        case ReasonCode.NOT_ALLOWED:
            return _add_allow_rule(step)
        case ReasonCode.DENIED_BY_RULE:
            return _remove_rule(step, "deny")
        case ReasonCode.APPROVAL_REQUIRED:
            return None if _is_by_flow(step.decision) else _remove_rule(step, "approve")
        case ReasonCode.SCOPE_MISSING:
            return _add_scope(step)
        case ReasonCode.SCOPE_VIOLATION:
            return _widen_scope(step)
        case ReasonCode.CALLS_EXCEEDED:
            return _allow_one_call(step)
        case _:
            return None


def _is_by_flow(decision: Decision) -> bool:
    """Whether a rule of `flows` refuses it. Such a rule is never suggested for removal."""
    return decision.reason is ReasonCode.FLOW_DENIED or (
        decision.reason is ReasonCode.APPROVAL_REQUIRED and decision.nearest is None
    )


def _add_allow_rule(step: _PolicyChange) -> Change:
    name = step.request.capability
    opens = f"every call of `{name}` that its schema{_and_scope(step)} and the limits let through"
    return Change(f"allow `{name}`", _append_patch(step.written, ("allow",), name), opens)


def _and_scope(step: _PolicyChange) -> str:
    domain = domain_of(step.request.capability)
    return f", `scopes.{domain}`" if step.catalogue.domains[domain].scope else ""


def _remove_rule(step: _PolicyChange, key: str) -> Change:
    """Remove the rule; a rule for a whole domain is replaced by rules for its other functions."""
    name, rule = step.request.capability, step.decision.rule or step.request.capability
    removal = {"op": "remove", "path": rule_place(step.written, key, rule)}
    others = sorted(covered_by(rule, step.catalogue.capabilities) - {name})
    others = [other for other in others if other not in step.written.get(key, ())]
    additions = [{"op": "add", "path": json_pointer(key, "-"), "value": other} for other in others]
    says = f"remove `{rule}` from `{key}`"
    opens = f"every call of `{name}` that `allow` and the scope let through"
    if key == "approve":
        opens = f"every call of `{name}` without anybody's approval"
    if rule != name:
        says += f", and name the others of its domain: {', '.join(others) or 'there are none'}"
        opens += f"; and what is registered in `{domain_of(name)}` later is not covered any more"
    return Change(says, (removal, *additions), opens)


def _add_scope(step: _PolicyChange) -> Change | None:
    domain, _, function = step.request.capability.partition(".")
    model = step.catalogue.domains[domain].scope
    seen = ObservedArguments(function, step.request.payload)
    proposal = model.covering([seen], None) if model is not None else None
    if proposal is None:
        return None
    patch = _set_patch(step.written, ("scopes", domain), proposal.scope)
    opens = f"all that lies in this scope, to {_functions(step, domain, patch)}"
    return Change(f"set `scopes.{domain}`: {proposal.scope!r}", patch, opens)


def _widen_scope(step: _PolicyChange) -> Change | None:
    domain, _, function = step.request.capability.partition(".")
    scope = step.scope
    change = scope.change_for(function, step.request.payload) if scope is not None else None
    if change is None:
        return None
    place = ("scopes", domain, change.key)
    make_patch = _append_patch if change.append else _set_patch
    verb = "add to" if change.append else "set"
    patch = make_patch(step.written, place, change.value)
    return Change(
        f"{verb} `scopes.{domain}.{change.key}`: {change.value!r}",
        patch,
        f"{change.opens}, to {_functions(step, domain, patch)}",
    )


def _functions(step: _PolicyChange, domain: str, patch: tuple[dict[str, Any], ...]) -> str:
    """The capabilities of `domain` granted after `patch`: the scope applies to all of them."""
    after = step.catalogue.terms_of(_patched(step, patch)[1])
    names = {name for name in granted(after) if domain_of(name) == domain}
    return ", ".join(f"`{name}`" for name in sorted({*names, step.request.capability}))


def _allow_one_call(step: _PolicyChange) -> Change:
    patch = _set_patch(step.written, ("limits", "calls"), 1)
    return Change("set `limits.calls`: 1", patch, "one call of each execution, whichever it is")


def _append_patch(
    written: Mapping[str, Any], place: tuple[str, ...], value: Any
) -> tuple[dict[str, Any], ...]:
    """A patch that adds `value` to the list at `place`, which may not exist yet."""
    found: Any = written
    for key in place:
        found = found.get(key) if isinstance(found, Mapping) else None
    if isinstance(found, list):
        return ({"op": "add", "path": json_pointer(*place, "-"), "value": value},)
    return _set_patch(written, place, [value])


def _set_patch(
    written: Mapping[str, Any], place: tuple[str, ...], value: Any
) -> tuple[dict[str, Any], ...]:
    """A patch that sets `value` at `place`, with the objects around it if they are missing."""
    found: Any = written
    for depth, key in enumerate(place[:-1]):
        if key not in found:
            for inner in reversed(place[depth + 1 :]):
                value = {inner: value}
            return ({"op": "add", "path": json_pointer(*place[: depth + 1]), "value": value},)
        found = found[key]
    # By RFC 6902, `add` to an object adds the key or replaces its value.
    return ({"op": "add", "path": json_pointer(*place), "value": value},)


def _apply(document: dict[str, Any], operation: Mapping[str, Any]) -> None:
    """Apply one operation, `add` or `remove`: changes use only these two."""
    *path, last = (
        step.replace("~1", "/").replace("~0", "~") for step in operation["path"].split("/")[1:]
    )
    target: Any = document
    for step in path:
        target = target[step]
    if operation["op"] == "remove":
        del target[int(last)]
    elif last == "-":
        target.append(plain_json(operation["value"]))
    else:
        target[last] = plain_json(operation["value"])
