"""What `lint` can find: a closed set of codes, each with its severity."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from caps.security.review.scope_answers import Severity


class LintCode(enum.StrEnum):
    """Stable: scripts and reviews refer to these. Scopes add codes of their own."""

    UNKNOWN_RULE = "unknown-rule"
    BAD_SCOPE = "bad-scope"
    FAILING_TEST = "failing-test"
    MISSING_SCOPE = "missing-scope"
    NEVER_ALLOWED = "never-allowed"
    NO_CALLS = "no-calls"
    NOTHING_TOGETHER = "nothing-together"
    WITHHELD_BY_ANOTHER = "withheld-by-another"
    SHADOWED_ALLOW = "shadowed-allow"
    EMPTY_RULE = "empty-rule"
    IDLE_APPROVE = "idle-approve"
    IDLE_RATE = "idle-rate"
    IDLE_SCOPE = "idle-scope"
    HIGH_LIMIT = "high-limit"
    REACHES_POLICY = "reaches-policy"
    READS_POLICY = "reads-policy"
    LETHAL_TRIFECTA = "lethal-trifecta"
    NO_TESTS = "no-tests"
    REDUNDANT_RULE = "redundant-rule"
    IDLE_DENY = "idle-deny"
    WHOLE_DOMAIN = "whole-domain"
    REAL_MODULE = "real-module"
    NO_DENY_TEST = "no-deny-test"
    UNTESTED = "untested"


_ERROR, _WARNING, _INFO = Severity
SEVERITIES: Final[Mapping[LintCode, Severity]] = {
    LintCode.UNKNOWN_RULE: _ERROR,
    LintCode.BAD_SCOPE: _ERROR,
    LintCode.FAILING_TEST: _ERROR,
    LintCode.MISSING_SCOPE: _ERROR,
    LintCode.NO_CALLS: _ERROR,
    LintCode.REACHES_POLICY: _ERROR,
    LintCode.NOTHING_TOGETHER: _WARNING,
    LintCode.READS_POLICY: _WARNING,
    LintCode.LETHAL_TRIFECTA: _WARNING,
    LintCode.NEVER_ALLOWED: _WARNING,
    LintCode.SHADOWED_ALLOW: _WARNING,
    LintCode.EMPTY_RULE: _WARNING,
    LintCode.IDLE_APPROVE: _WARNING,
    LintCode.IDLE_RATE: _WARNING,
    LintCode.IDLE_SCOPE: _WARNING,
    LintCode.HIGH_LIMIT: _WARNING,
    LintCode.NO_TESTS: _WARNING,
    LintCode.REDUNDANT_RULE: _INFO,
    LintCode.IDLE_DENY: _INFO,
    LintCode.WHOLE_DOMAIN: _INFO,
    LintCode.REAL_MODULE: _INFO,
    LintCode.NO_DENY_TEST: _INFO,
    LintCode.UNTESTED: _INFO,
    LintCode.WITHHELD_BY_ANOTHER: _INFO,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something that a reviewer should check; `place` is a JSON pointer into the policy."""

    code: str
    severity: Severity
    place: str
    message: str
    remedy: str
    policy: str | None = None
    """The id of the policy that it is about, if several were checked together."""


def finding(code: LintCode, place: str, message: str, remedy: str) -> Finding:
    """A finding of `code`, with its severity."""
    return Finding(
        code=code.value, severity=SEVERITIES[code], place=place, message=message, remedy=remedy
    )
