"""(6) The decision: may this execution make this call, now? Every rule is here.

Pure: no files, no clocks, no state. The broker passes the request and what was used so far; the
grant holds what is allowed; `decide` returns a value that says why. These are the rules, in the
order in which they are applied; the first rule that refuses is the answer.

- A capability that is not registered is refused.
- `deny` beats `allow`: a capability under a `deny` rule is withheld.
- Deny by default: a capability under no `allow` rule is withheld.
- A capability whose domain has scopes is withheld when the policy gives that domain none.
- A capability that was revoked since the execution started is refused.
- Nothing is allowed after the deadline of the execution (`limits.wall_ms`).
- Nothing is allowed once `limits.calls` requests were made, refused ones included.
- Nothing is allowed while `limits.concurrency` calls are in flight.
- A capability is refused while its window holds as many calls as its rate (`limits.rates`) allows;
  the rate does not apply to a repeat under the same idempotency key: it has no effect of its own.
- An idempotency key that was used before with other arguments is refused.
- A payload that does not fit the capability's schema is refused.
- A payload that lies outside the scope of the capability's domain is refused.
- A capability under an `approve` rule is refused until somebody approved the call. Nobody is asked
  about a call that the rules above refuse. A repeat under the same key needs no approval.
- Every other call is allowed. If a `deny` rule in dry run covers it, the decision names that rule.
- Any error while evaluating these rules is a refusal.

`evaluate_terms` applies the first four when a policy is bound to the registry; `decide` reads the
outcome from the grant. `message` and `nearest` are for the operator and the audit log and never
quote a payload; `detail` and `problems` are for the caller and may quote it. `error_for` makes the
error that the caller sees.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Final, Literal, Protocol

import msgspec

from caps.protocol.errors import (
    CapsError,
    LimitExceededError,
    PolicyDeniedError,
    ValidationError,
)
from caps.protocol.text import nearest
from caps.security.policies.names import domain_of, quoted
from caps.security.policy import Limits, Rate, RuleEffect, SecurityPolicy
from caps.security.scopes import Scope


class ReasonCode(enum.StrEnum):
    """The reason for a decision. Stable: audit records and metrics contain these codes."""

    ALLOWED = "allowed"
    UNKNOWN_CAPABILITY = "unknown_capability"
    NOT_ALLOWED = "not_allowed"
    DENIED_BY_RULE = "denied_by_rule"
    SCOPE_MISSING = "scope_missing"
    REVOKED = "revoked"
    APPROVAL_REQUIRED = "approval_required"
    APPROVAL_DENIED = "approval_denied"
    APPROVAL_TIMEOUT = "approval_timeout"
    DEADLINE_PASSED = "deadline_passed"
    CALLS_EXCEEDED = "calls_exceeded"
    CONCURRENCY_EXCEEDED = "concurrency_exceeded"
    RATE_EXCEEDED = "rate_exceeded"
    PAYLOAD_INVALID = "payload_invalid"
    SCOPE_VIOLATION = "scope_violation"
    INTERNAL_ERROR = "internal_error"


# The limit behind each reason, by its key under `limits` in the policy.
LIMITS: Final[Mapping[ReasonCode, str]] = {
    ReasonCode.DEADLINE_PASSED: "wall_ms",
    ReasonCode.CALLS_EXCEEDED: "calls",
    ReasonCode.CONCURRENCY_EXCEEDED: "concurrency",
    ReasonCode.RATE_EXCEEDED: "rates",
}


class Problem(msgspec.Struct, frozen=True):
    """One way in which a payload does not fit its schema. `got` describes the value given."""

    path: str
    expected: str
    got: str


class Decision(msgspec.Struct, frozen=True):
    """The answer to one request, with the reason.

    `rule` is the part of the policy that decided, if one did: an `allow`, `deny` or `approve` rule,
    `scopes.<domain>.<key>` or `limits.<name>`. `nearest` is the name that was probably meant, or
    the first change of the policy that is needed to allow the call. `bound` is the value of the
    limit. `dry_run_rule` is the `deny` rule in dry run that would have refused the call.
    """

    allowed: bool
    reason: ReasonCode
    rule: str | None
    policy_id: str
    policy_sha256: str
    message: str
    nearest: str | None = None
    problems: tuple[Problem, ...] = ()
    bound: int | str | None = None
    detail: str | None = None
    dry_run_rule: str | None = None

    @property
    def expectation(self) -> Literal["allow", "deny", "approve"]:
        """The decision in the words that the tests of a policy use."""
        if self.reason is ReasonCode.APPROVAL_REQUIRED:
            return "approve"
        return "allow" if self.allowed else "deny"

    def __post_init__(self) -> None:
        if self.allowed is not (self.reason is ReasonCode.ALLOWED):
            raise ValueError(f"a decision cannot be allowed={self.allowed} for `{self.reason}`")


class CapabilityTerms(Protocol):
    """What a grant says about one registered capability, granted or withheld."""

    @property
    def name(self) -> str: ...
    @property
    def rule(self) -> str | None: ...
    @property
    def withheld(self) -> ReasonCode | None:
        """Why it is not granted, from `evaluate_terms`; None if it is granted."""

    @property
    def scope(self) -> Scope | None: ...
    @property
    def rate(self) -> Rate | None: ...
    @property
    def approve(self) -> str | None:
        """The rule that asks for an approval, if one does."""

    @property
    def dry_run(self) -> str | None:
        """The `deny` rule in dry run that covers it, if one does."""

    def problems_in(self, payload: Mapping[str, Any]) -> tuple[Problem, ...]:
        """What does not fit the schema of the capability; empty if everything fits. Pure."""


class GrantTerms(Protocol):
    """What one execution may do: a policy applied to all registered capabilities."""

    @property
    def policy_id(self) -> str: ...
    @property
    def policy_sha256(self) -> str: ...
    @property
    def limits(self) -> Limits: ...
    @property
    def terms(self) -> Mapping[str, CapabilityTerms]: ...
    @property
    def revoked(self) -> AbstractSet[str]: ...


class Request(msgspec.Struct, frozen=True):
    """The call that is to be decided."""

    capability: str
    payload: Mapping[str, Any]


class KeyUse(enum.Enum):
    """How the execution used the idempotency key of this request before."""

    FRESH = "fresh"  # never, or the request has no key
    REPEAT = "repeat"  # for the same call
    CONFLICT = "conflict"  # for another call


class ApprovalUse(enum.Enum):
    """The outcome of asking for an approval of this request."""

    NONE = "none"  # nobody was asked
    GIVEN = "given"
    DENIED = "denied"
    TIMED_OUT = "timed_out"


class Usage(msgspec.Struct, frozen=True):
    """What the execution used before this request."""

    calls: int
    in_flight: int
    in_rate_window: int
    past_deadline: bool
    key: KeyUse = KeyUse.FRESH
    approval: ApprovalUse = ApprovalUse.NONE


# An execution that has not called anything yet.
NOTHING_USED: Final = Usage(calls=0, in_flight=0, in_rate_window=0, past_deadline=False)


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
    try:
        terms = grant.terms.get(request.capability)
        if terms is None:
            return _unknown(grant, request, usage)
        if terms.withheld is not None:
            return _withheld(grant, terms, terms.withheld)
        if terms.name in grant.revoked:
            message = f"`{terms.name}` was revoked after the execution started"
            return _refusal(grant, ReasonCode.REVOKED, message)
        refused = (
            _over_limit(grant, terms, usage)
            or _conflict(grant, terms, usage)
            or _misfit(grant, terms, request)
            or _unapproved(grant, terms, usage)
        )
        return refused or _allowed(terms.rule, grant.policy_id, grant.policy_sha256, terms.dry_run)
    except Exception as error:  # noqa: BLE001 - whatever went wrong, the answer is no
        # The class alone: the text of a foreign error may quote the payload.
        what = f"the rules could not be evaluated, `{type(error).__name__}`"
        return _refusal(grant, ReasonCode.INTERNAL_ERROR, what)


@functools.lru_cache(maxsize=1024)
def _allowed(rule: str | None, policy_id: str, policy_sha256: str, dry_run: str | None) -> Decision:
    # Cached: building one costs more than all the checks before it. Frozen, so it can be shared.
    reason, message = ReasonCode.ALLOWED, "allowed"
    return Decision(True, reason, rule, policy_id, policy_sha256, message, dry_run_rule=dry_run)


def _refusal(
    grant: GrantTerms, reason: ReasonCode, message: str, *, rule: str | None = None, **more: Any
) -> Decision:
    return Decision(False, reason, rule, grant.policy_id, grant.policy_sha256, message, **more)


def _unknown(grant: GrantTerms, request: Request, usage: Usage) -> Decision:
    # Comparing names is the only costly step here; skip it once the calls are used up.
    spent = usage.calls >= grant.limits.calls
    return _refusal(
        grant,
        ReasonCode.UNKNOWN_CAPABILITY,
        f"{quoted(request.capability)} is not a registered capability",
        nearest=None if spent else nearest(request.capability, grant.terms),
    )


def _withheld(grant: GrantTerms, terms: CapabilityTerms, reason: ReasonCode) -> Decision:
    name, rule, domain = f"`{terms.name}`", terms.rule, domain_of(terms.name)
    policy = f"policy `{grant.policy_id}`"
    match reason:
        case ReasonCode.NOT_ALLOWED:
            message, change = f"{name} is allowed by no rule of {policy}", f"allow: {terms.name}"
        case ReasonCode.DENIED_BY_RULE:
            message = f"{name} is denied by rule `{rule}` of {policy}"
            change = f"remove deny: {rule}"
        case ReasonCode.SCOPE_MISSING:
            message = f"{name} is allowed by rule `{rule}` of {policy} but has no `scopes.{domain}`"
            change = f"scopes: {domain}"
        case _:
            raise ValueError("not a reason to withhold a capability")
    return _refusal(grant, reason, message, rule=rule, nearest=change)


def _over_limit(grant: GrantTerms, terms: CapabilityTerms, usage: Usage) -> Decision | None:
    limits, rate = grant.limits, terms.rate
    bound: int | str
    if usage.past_deadline:
        reason, bound = ReasonCode.DEADLINE_PASSED, limits.wall_ms
    elif usage.calls >= limits.calls:
        reason, bound = ReasonCode.CALLS_EXCEEDED, limits.calls
    elif usage.in_flight >= limits.concurrency:
        reason, bound = ReasonCode.CONCURRENCY_EXCEEDED, limits.concurrency
    elif rate is not None and usage.in_rate_window >= rate.count and usage.key is not KeyUse.REPEAT:
        reason, bound = ReasonCode.RATE_EXCEEDED, str(rate)
    else:
        return None
    rule = f"limits.{LIMITS[reason]}"
    message = f"`{terms.name}` is over `{rule}` of policy `{grant.policy_id}`, which is {bound}"
    return _refusal(grant, reason, message, rule=rule, bound=bound)


def _conflict(grant: GrantTerms, terms: CapabilityTerms, usage: Usage) -> Decision | None:
    if usage.key is not KeyUse.CONFLICT:
        return None
    message = f"the idempotency key of `{terms.name}` was used before with other arguments"
    problem = Problem("idempotency_key", "the arguments it was first used with", "others")
    return _refusal(grant, ReasonCode.PAYLOAD_INVALID, message, problems=(problem,))


def _misfit(grant: GrantTerms, terms: CapabilityTerms, request: Request) -> Decision | None:
    problems = terms.problems_in(request.payload)
    # Compared to the empty tuple, not tested for truth: a value that is not a tuple must not pass.
    if problems != ():
        message = f"the payload of `{terms.name}` does not fit its schema"
        return _refusal(grant, ReasonCode.PAYLOAD_INVALID, message, problems=tuple(problems))
    if terms.scope is None:
        return None
    domain, _, function = terms.name.partition(".")
    violation = terms.scope.violation(function, request.payload)
    if violation is None:
        return None
    rule = f"scopes.{domain}.{violation.rule}"
    message = f"the payload of `{terms.name}` is outside `{rule}` of policy `{grant.policy_id}`"
    reason = ReasonCode.SCOPE_VIOLATION
    return _refusal(grant, reason, message, rule=rule, detail=violation.message)


def _unapproved(grant: GrantTerms, terms: CapabilityTerms, usage: Usage) -> Decision | None:
    rule, use = terms.approve, usage.approval
    if rule is None or use is ApprovalUse.GIVEN or usage.key is KeyUse.REPEAT:
        return None
    name, asked_by = f"`{terms.name}`", f"rule `{rule}` of policy `{grant.policy_id}`"
    match use:
        case ApprovalUse.DENIED:
            reason, message = ReasonCode.APPROVAL_DENIED, f"{name} was denied its approval"
        case ApprovalUse.TIMED_OUT:
            reason, message = ReasonCode.APPROVAL_TIMEOUT, f"{name} was not approved in time"
        case _:
            reason, message = ReasonCode.APPROVAL_REQUIRED, f"{name} needs an approval"
    change = f"remove approve: {rule}"
    return _refusal(grant, reason, f"{message}, by {asked_by}", rule=rule, nearest=change)


def error_for(decision: Decision, capability: str) -> CapsError:
    """The error for a refused caller: it names capability and policy, not the change that helps."""
    name, policy_id, reason = quoted(capability), decision.policy_id, decision.reason
    if decision.allowed:
        raise ValueError(f"{name} was allowed, there is no error for it")
    if reason is ReasonCode.PAYLOAD_INVALID:
        return ValidationError(
            f"{decision.message}{_first(decision.problems)}",
            capability=capability,
            problems=[
                {"path": p.path, "expected": p.expected, "got": p.got} for p in decision.problems
            ],
        )
    if reason in LIMITS:
        return LimitExceededError(
            f"{name} is over `limits.{LIMITS[reason]}` of policy `{policy_id}`, {decision.bound}",
            capability=capability,
            reason=reason.value,
            policy_id=policy_id,
            limit=LIMITS[reason],
            allowed=decision.bound,
        )
    return PolicyDeniedError(
        f"{name} is not granted by policy `{policy_id}`{_why(decision)}",
        capability=capability,
        reason=reason.value,
        policy_id=policy_id,
    )


def _first(problems: tuple[Problem, ...]) -> str:
    if not problems:
        return ""
    first, more = problems[0], len(problems) - 1
    suffix = f" (and {more} more)" if more else ""
    return f": {quoted(first.path)} should be {first.expected}, got {first.got}{suffix}"


def _why(decision: Decision) -> str:
    match decision.reason:
        case ReasonCode.UNKNOWN_CAPABILITY:
            return ": there is no such capability"
        case ReasonCode.SCOPE_VIOLATION:
            return f" for these arguments: {decision.detail or decision.message}"
        case ReasonCode.APPROVAL_REQUIRED:
            return " without an approval"
        case ReasonCode.APPROVAL_DENIED:
            return ": its approval was denied"
        case ReasonCode.APPROVAL_TIMEOUT:
            return ": nobody approved it in time"
        case ReasonCode.REVOKED:
            return ": it was revoked"
        case ReasonCode.INTERNAL_ERROR:
            return ": the request could not be checked"
        case _:
            return ""
