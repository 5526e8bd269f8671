"""(6) The error that a refused caller sees. It says what was refused, never how to allow it."""

from __future__ import annotations

from caps.protocol.errors import (
    CapsError,
    LimitExceededError,
    PolicyDeniedError,
    ValidationError,
)
from caps.security.decision import Decision
from caps.security.policies.names import quoted
from caps.security.reasons import LIMITS, Problem, ReasonCode

_MAX_LISTED = 8


def error_for(decision: Decision, capability: str) -> CapsError:
    """The error for a refused caller: it names capability and policy, not the change that helps."""
    name, policy_id, reason = quoted(capability), decision.policy_id, decision.reason
    if decision.allowed:
        raise ValueError(f"{name} was allowed, there is no error for it")
    if reason is ReasonCode.PAYLOAD_INVALID:
        return ValidationError(
            f"{decision.message}{_listed(decision.problems)}",
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


def _listed(problems: tuple[Problem, ...]) -> str:
    if not problems:
        return ""
    shown, more = problems[:_MAX_LISTED], len(problems) - _MAX_LISTED
    suffix = f" (and {more} more)" if more > 0 else ""
    lines = (f"{quoted(one.path)} should be {one.expected}, got {one.got}" for one in shown)
    return f": {'; '.join(lines)}{suffix}"


def _why(decision: Decision) -> str:
    match decision.reason:
        case ReasonCode.UNKNOWN_CAPABILITY:
            return ": there is no such capability"
        case ReasonCode.SCOPE_VIOLATION:
            return f" for these arguments: {decision.detail or decision.message}"
        case ReasonCode.FLOW_DENIED:
            return f" after what was read before, by rule `{decision.rule}`"
        case ReasonCode.APPROVAL_REQUIRED:
            return " without an approval"
        case ReasonCode.APPROVAL_DENIED:
            return ": its approval was denied"
        case ReasonCode.APPROVAL_TIMEOUT:
            return ": nobody approved it in time"
        case ReasonCode.REVOKED:
            return ": it was revoked"
        case ReasonCode.TOOL_CARD_INVALID:
            return ": it has no valid tool card"
        case ReasonCode.INTERNAL_ERROR:
            return ": the request could not be checked"
        case _:
            return ""
