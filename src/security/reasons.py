"""(6) Why a call is allowed or refused: a closed set of codes, and what is wrong with a payload."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Final

import msgspec


class ReasonCode(enum.StrEnum):
    """The reason for a decision. Stable: audit records and metrics contain these codes."""

    ALLOWED = "allowed"
    UNKNOWN_CAPABILITY = "unknown_capability"
    NOT_ALLOWED = "not_allowed"
    DENIED_BY_RULE = "denied_by_rule"
    SCOPE_MISSING = "scope_missing"
    REVOKED = "revoked"
    TOOL_CARD_INVALID = "tool_card_invalid"
    APPROVAL_REQUIRED = "approval_required"
    APPROVAL_DENIED = "approval_denied"
    APPROVAL_TIMEOUT = "approval_timeout"
    DEADLINE_PASSED = "deadline_passed"
    CALLS_EXCEEDED = "calls_exceeded"
    COST_EXCEEDED = "cost_exceeded"
    CONCURRENCY_EXCEEDED = "concurrency_exceeded"
    RATE_EXCEEDED = "rate_exceeded"
    ARTIFACTS_EXCEEDED = "artifacts_exceeded"
    PAYLOAD_INVALID = "payload_invalid"
    SCOPE_VIOLATION = "scope_violation"
    FLOW_DENIED = "flow_denied"
    INTERNAL_ERROR = "internal_error"


# The limit behind each reason, by its key under `limits` in the policy.
LIMITS: Final[Mapping[ReasonCode, str]] = {
    ReasonCode.DEADLINE_PASSED: "wall_ms",
    ReasonCode.CALLS_EXCEEDED: "calls",
    ReasonCode.COST_EXCEEDED: "cost",
    ReasonCode.CONCURRENCY_EXCEEDED: "concurrency",
    ReasonCode.RATE_EXCEEDED: "rates",
}

# What is said of a capability that the policies grant and that is refused for another reason.
WITHDRAWN: Final[Mapping[ReasonCode, str]] = {
    ReasonCode.REVOKED: "was revoked after the execution started",
    ReasonCode.TOOL_CARD_INVALID: "has no valid tool card that describes it as it is",
}


class Problem(msgspec.Struct, frozen=True):
    """One way in which a payload does not fit its schema. `got` describes the value given."""

    path: str
    expected: str
    got: str
