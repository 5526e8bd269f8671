"""The tests in a policy, run one by one: each gets an outcome, not only the first failure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from caps.protocol.errors import PolicyInvalidError
from caps.security.policies.load import policy_from_json
from caps.security.policy import PolicyTest
from caps.security.review.catalogue import first_decision
from caps.security.terms import GrantTerms


@dataclass(frozen=True, slots=True, kw_only=True)
class TestOutcome:
    """A test, the decision, and the reason."""

    __test__ = False  # not a test class of pytest

    index: int
    source: str
    call: str
    payload: dict[str, Any]
    expect: str
    got: str
    reason: str
    rule: str | None
    message: str

    @property
    def passed(self) -> bool:
        return self.got == self.expect


def run_tests(
    terms: GrantTerms, tests: Iterable[PolicyTest], *, source: str
) -> tuple[TestOutcome, ...]:
    """Every test with its outcome; `source` is the name of its file."""
    outcomes = []
    for index, test in enumerate(tests):
        decision = first_decision(terms, test.call, test.payload, test.after)
        outcome = TestOutcome(
            index=index,
            source=source,
            call=test.call,
            payload=test.payload,
            expect=test.expect,
            got=decision.expectation,
            reason=decision.reason.value,
            rule=decision.rule,
            message=decision.message if decision.detail is None else decision.detail,
        )
        outcomes.append(outcome)
    return tuple(outcomes)


def tests_from_json(data: bytes, *, source: str) -> tuple[PolicyTest, ...]:
    """The tests of a file: an array of tests, or a policy, of which only the tests are used.

    Raises `PolicyInvalidError`.
    """
    if data.lstrip().startswith(b"["):
        data = b'{"tests":' + data + b"}"
    tests = policy_from_json(data, source=source).tests
    if not tests:
        raise PolicyInvalidError(
            f"policy `{source}`: holds no tests; write an array of them, or a policy with `tests`",
            source=source,
            place="tests",
        )
    return tests
