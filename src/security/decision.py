"""(6) The decision: may this execution make this call, now? Every rule is here.

Pure: no files, no clocks, no state. The broker passes the request and what was used so far; the
grant holds what is allowed; `decide` returns a value that says why. These are the rules, in the
order in which they are applied; the first rule that refuses is the answer.

A grant rests on one policy or several, and each must allow. Each rule is asked of all of them, in
their order, before the next rule is: the first policy that refuses is named. A policy that is added
can therefore only take away. An allowed call names the last policy, which is the caller's own.

- A capability that is not registered is refused.
- `deny` beats `allow`: a capability under a `deny` rule is withheld.
- Deny by default: a capability under no `allow` rule is withheld.
- A capability whose domain has scopes is withheld when the policy gives that domain none.
- A capability that was revoked meanwhile, or lacks the tool card that is required, is refused.
- Nothing is allowed after the deadline of the execution (`limits.wall_ms`).
- Nothing is allowed once `limits.calls` requests were made, refused ones included.
- Nothing is allowed while `limits.concurrency` calls are in flight.
- A call is refused if its cost, by its tool card, and that of all calls which were allowed before
  exceed `limits.cost`. Of these four limits the lowest among the policies counts.
- A capability is refused while the window of one policy holds as many calls as its rate
  (`limits.rates`) allows; each policy counts by itself. Neither rate nor cost apply to a repeat
  under the same idempotency key: it has no effect of its own.
- An idempotency key that was used before with other arguments, or under other policies, is refused.
- A payload that does not fit the capability's schema is refused.
- A payload that lies outside the scope that a policy gives the capability's domain is refused.
- A call is refused if its channel was answered everything in `after` of a rule of `flows` that
  denies the capability. What counts is what was answered before the request was received.
- A capability under an `approve` rule, or under a rule of `flows` that asks (as above), is refused
  until somebody approved the call, once for all policies that want it. Nobody is asked about a call
  that the rules above refuse, under whichever policy. A repeat under the same key needs none.
- Every other call is allowed. If a `deny` rule in dry run covers it, the decision names the first.
- Any error while evaluating these rules is a refusal.

`evaluate_terms` applies the first four when a policy is bound to the registry; `decide` reads the
outcome from the grant. `message` and `nearest` are for the operator and the audit log and never
quote a payload; `detail` and `problems` are for the caller and may quote it. `error_for` in
`refusals.py` makes the error that the caller sees.
"""

from __future__ import annotations

import functools
from typing import Any, Final, Literal

import msgspec
from msgspec.structs import replace

from caps.protocol.text import nearest
from caps.security.policies.flow_rules import NO_MARKS, BoundFlow, given_labels
from caps.security.policies.names import domain_of, quoted
from caps.security.policy import RuleEffect, SecurityPolicy
from caps.security.reasons import LIMITS, WITHDRAWN, Problem, ReasonCode
from caps.security.request import ApprovalUse, KeyUse, Request, Usage
from caps.security.terms import CapabilityTerms, GrantTerms, PolicyTerms


class Decision(msgspec.Struct, frozen=True):
    """The answer to one request, with the reason.

    `rule` is the part of the policy that decided, if one did: an `allow`, `deny` or `approve` rule,
    `scopes.<domain>.<key>`, `flows.<id>` or `limits.<name>`. `nearest` is the name that was
    probably meant, or the first change of the policy that is needed to allow the call. `bound` is
    the value of the limit. `dry_run_rule` is the `deny` rule in dry run that would have refused the
    call, and `dry_run_policy` the id of its policy if that is not the one which decided. `labels`
    are those of the answer to an allowed call; its provider may add more.
    """

    allowed: bool
    reason: ReasonCode
    rule: str | None
    policy_id: str
    policy_sha256: str
    message: str
    nearest: str | None = None
    problems: tuple[Problem, ...] = ()
    bound: float | str | None = None
    detail: str | None = None
    dry_run_rule: str | None = None
    dry_run_policy: str | None = None
    labels: frozenset[str] = NO_MARKS

    @property
    def expectation(self) -> Literal["allow", "deny", "approve"]:
        """The decision in the words that the tests of a policy use."""
        if self.reason is ReasonCode.APPROVAL_REQUIRED:
            return "approve"
        return "allow" if self.allowed else "deny"

    def __post_init__(self) -> None:
        if self.allowed is not (self.reason is ReasonCode.ALLOWED):
            raise ValueError(f"a decision cannot be allowed={self.allowed} for `{self.reason}`")


# Each policy of a grant, with what it says about the capability of a request.
_Asked = list[tuple[PolicyTerms, CapabilityTerms]]

# Rules are passed over for this very value, and for `NO_MARKS`; anything else is read.
_NO_FLOWS: Final[tuple[BoundFlow, ...]] = ()
_CONFLICT: Final = KeyUse.CONFLICT  # Python 3.11 takes 50 ns to look up a member of an enum


def evaluate_terms(
    policy: SecurityPolicy, capability: str, has_scope_model: bool, scope_given: bool
) -> tuple[str | None, ReasonCode | None]:
    """The rule that decides `capability`, and why it is withheld (None: it is granted)."""
    verdict = policy.verdict(capability)
    if verdict.effect is RuleEffect.DENY:
        return verdict.rule, ReasonCode.DENIED_BY_RULE
    if verdict.effect is not RuleEffect.ALLOW:
        return None, ReasonCode.NOT_ALLOWED
    if has_scope_model and not scope_given:
        return verdict.rule, ReasonCode.SCOPE_MISSING
    return verdict.rule, None


def decide(grant: GrantTerms, request: Request, usage: Usage) -> Decision:
    """Apply the rules to one request. Never raises: a request is refused on any error."""
    policy: PolicyTerms = grant
    try:
        asked: _Asked = []
        is_conditional = is_labelled = False
        dry_run = dry_run_policy = None
        for policy in grant.links:
            terms = policy.terms.get(request.capability)
            if terms is None:
                return _unknown(policy, request, usage)
            if terms.withheld is not None:
                return _withheld(policy, terms, terms.withheld)
            if terms.dry_run is not None and dry_run is None:
                dry_run, dry_run_policy = terms.dry_run, policy.policy_id
            is_conditional |= terms.flows is not _NO_FLOWS or terms.approve is not None
            is_labelled |= terms.scope is not None or terms.labels is not NO_MARKS
            asked.append((policy, terms))
        policy, own = asked[-1]
        revoked = own.name in grant.revoked
        if revoked or own.name in grant.uncarded:
            reason = ReasonCode.REVOKED if revoked else ReasonCode.TOOL_CARD_INVALID
            return _refusal(policy, reason, f"`{own.name}` {WITHDRAWN[reason]}")
        refused = (
            _over_limit(grant, asked, usage)
            or (_conflict(policy, own) if usage.key is _CONFLICT else None)
            or _misfit(asked, request)
            or (is_conditional and (_against_flow(asked, usage) or _unapproved(asked, usage)))
        )
        if refused:
            return refused
        labels = _labels(asked, request) if is_labelled else NO_MARKS
        ids = (policy.policy_id, policy.policy_sha256)
        return _allowed(own.rule, *ids, dry_run, dry_run_policy, labels)
    except Exception as error:  # noqa: BLE001 - whatever went wrong, the answer is no
        # The class alone: the text of a foreign error may quote the payload.
        what = f"the rules could not be evaluated, `{type(error).__name__}`"
        return _refusal(policy, ReasonCode.INTERNAL_ERROR, what)


@functools.lru_cache(maxsize=1024)
def _allowed(
    rule: str | None,
    policy_id: str,
    policy_sha256: str,
    dry_run: str | None,
    by: str | None,
    labels: frozenset[str],
) -> Decision:
    # Cached: building one costs more than all the checks before it. Frozen, so it can be shared.
    reason, message, by = ReasonCode.ALLOWED, "allowed", None if by == policy_id else by
    return Decision(
        *(True, reason, rule, policy_id, policy_sha256, message),
        dry_run_rule=dry_run,
        dry_run_policy=by,
        labels=labels,
    )


def _refusal(
    policy: PolicyTerms, reason: ReasonCode, message: str, *, rule: str | None = None, **more: Any
) -> Decision:
    return Decision(False, reason, rule, policy.policy_id, policy.policy_sha256, message, **more)


def _unknown(policy: PolicyTerms, request: Request, usage: Usage) -> Decision:
    # Comparing names is the only costly step here; skip it once the calls are used up.
    spent = usage.calls >= policy.limits.calls
    return _refusal(
        policy,
        ReasonCode.UNKNOWN_CAPABILITY,
        f"{quoted(request.capability)} is not a registered capability",
        nearest=None if spent else nearest(request.capability, policy.terms),
    )


def _withheld(policy: PolicyTerms, terms: CapabilityTerms, reason: ReasonCode) -> Decision:
    name, rule, domain = f"`{terms.name}`", terms.rule, domain_of(terms.name)
    by = f"policy `{policy.policy_id}`"
    match reason:
        case ReasonCode.NOT_ALLOWED:
            message, change = f"{name} is allowed by no rule of {by}", f"allow: {terms.name}"
        case ReasonCode.DENIED_BY_RULE:
            message = f"{name} is denied by rule `{rule}` of {by}"
            change = f"remove deny: {rule}"
        case ReasonCode.SCOPE_MISSING:
            message = f"{name} is allowed by rule `{rule}` of {by} but has no `scopes.{domain}`"
            change = f"scopes: {domain}"
        case _:
            raise ValueError("not a reason to withhold a capability")
    return _refusal(policy, reason, message, rule=rule, nearest=change)


def _over_limit(grant: GrantTerms, asked: _Asked, usage: Usage) -> Decision | None:
    limits = grant.limits
    if usage.past_deadline:
        return _over_lowest(grant, asked, ReasonCode.DEADLINE_PASSED)
    if usage.calls >= limits.calls:
        return _over_lowest(grant, asked, ReasonCode.CALLS_EXCEEDED)
    if usage.in_flight >= limits.concurrency:
        return _over_lowest(grant, asked, ReasonCode.CONCURRENCY_EXCEEDED)
    if usage.cost > limits.cost and usage.key is not KeyUse.REPEAT:
        return _over_lowest(grant, asked, ReasonCode.COST_EXCEEDED)
    if usage.in_rate_windows and usage.key is not KeyUse.REPEAT:
        for (policy, terms), in_window in zip(asked, usage.in_rate_windows, strict=True):
            if terms.rate is not None and in_window >= terms.rate.count:
                return _over(policy, terms, ReasonCode.RATE_EXCEEDED, str(terms.rate))
    return None


def _over_lowest(grant: GrantTerms, asked: _Asked, reason: ReasonCode) -> Decision:
    """Names the first policy whose limit is the lowest, which is the limit of the grant."""
    key = LIMITS[reason]
    policy, terms = min(asked, key=lambda each: float(getattr(each[0].limits, key)))
    return _over(policy, terms, reason, getattr(grant.limits, key))


def _over(
    policy: PolicyTerms, terms: CapabilityTerms, reason: ReasonCode, bound: float | str
) -> Decision:
    rule = f"limits.{LIMITS[reason]}"
    message = f"`{terms.name}` is over `{rule}` of policy `{policy.policy_id}`, which is {bound}"
    return _refusal(policy, reason, message, rule=rule, bound=bound)


def _conflict(policy: PolicyTerms, terms: CapabilityTerms) -> Decision:
    used = "was used before with other arguments, or under other policies"
    message = f"the idempotency key of `{terms.name}` {used}"
    problem = Problem("idempotency_key", "the arguments and policies of its first use", "others")
    return _refusal(policy, ReasonCode.PAYLOAD_INVALID, message, problems=(problem,))


def _misfit(asked: _Asked, request: Request) -> Decision | None:
    policy, terms = asked[-1]
    problems = terms.problems_in(request.payload)
    # Compared to the empty tuple, not tested for truth: a value that is not a tuple must not pass.
    if problems != ():
        message = f"the payload of `{terms.name}` does not fit its schema"
        return _refusal(policy, ReasonCode.PAYLOAD_INVALID, message, problems=tuple(problems))
    for policy, terms in asked:
        if terms.scope is None:
            continue
        domain, _, function = terms.name.partition(".")
        violation = terms.scope.violation(function, request.payload)
        if violation is not None:
            rule = f"scopes.{domain}.{violation.rule}"
            where = f"`{rule}` of policy `{policy.policy_id}`"
            message = f"the payload of `{terms.name}` is outside {where}"
            reason = ReasonCode.SCOPE_VIOLATION
            return _refusal(policy, reason, message, rule=rule, detail=violation.message)
    return None


def _against_flow(asked: _Asked, usage: Usage) -> Decision | None:
    for policy, terms in asked:
        for flow in terms.flows:
            if not flow.asks and flow.after <= usage.answered:
                after = " and ".join(f"`{mark}`" for mark in sorted(flow.after))
                by = f"by rule `{flow.rule}` of policy `{policy.policy_id}`"
                message = f"`{terms.name}` is denied after {after} {by}"
                return _refusal(policy, ReasonCode.FLOW_DENIED, message, rule=flow.rule)
    return None


def _labels(asked: _Asked, request: Request) -> frozenset[str]:
    """The labels of the answer that are known before the provider is called, under all policies."""
    found = NO_MARKS
    for _, terms in asked:
        found |= terms.labels
        if terms.scope is not None:
            function = terms.name.partition(".")[2]
            found |= given_labels(terms.scope.labels_for(function, request.payload))
    return found


def asking_rules(terms: CapabilityTerms, answered: frozenset[str]) -> tuple[str, ...]:
    """All rules of a policy that ask for an approval of a call, those of `flows` first."""
    own = () if terms.approve is None else (terms.approve,)
    if not terms.flows:
        return own
    return (*(f.rule for f in terms.flows if f.asks and f.after <= answered), *own)


def _unapproved(asked: _Asked, usage: Usage) -> Decision | None:
    for policy, terms in asked:
        rules = asking_rules(terms, usage.answered)
        if rules:
            if usage.approval is ApprovalUse.GIVEN or usage.key is KeyUse.REPEAT:
                return None
            refused = _approval_refusal(policy, f"`{terms.name}`", rules[0], usage.approval)
            # Nobody is told to remove a rule of `flows`.
            return refused if rules[0] == terms.approve else replace(refused, nearest=None)
    return None


def _approval_refusal(policy: PolicyTerms, name: str, rule: str, use: ApprovalUse) -> Decision:
    match use:
        case ApprovalUse.DENIED:
            reason, message = ReasonCode.APPROVAL_DENIED, f"{name} was denied its approval"
        case ApprovalUse.TIMED_OUT:
            reason, message = ReasonCode.APPROVAL_TIMEOUT, f"{name} was not approved in time"
        case _:
            reason, message = ReasonCode.APPROVAL_REQUIRED, f"{name} needs an approval"
    by, change = f"by rule `{rule}` of policy `{policy.policy_id}`", f"remove approve: {rule}"
    return _refusal(policy, reason, f"{message}, {by}", rule=rule, nearest=change)
