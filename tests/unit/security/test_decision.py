"""(6) The decision, rule by rule: what is refused, why, in which order, what the caller sees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
import pytest

from caps.protocol.errors import (
    CALL_ERRORS,
    LimitExceededError,
    PolicyDeniedError,
    ValidationError,
)
from caps.security.decision import (
    NOTHING_USED,
    ApprovalUse,
    CapabilityTerms,
    Decision,
    KeyUse,
    Problem,
    ReasonCode,
    Request,
    Usage,
    decide,
    error_for,
    evaluate_terms,
)
from caps.security.policies.load import load_policy
from caps.security.policy import Limits, Rate
from caps.security.scopes import Scope, Violation

SECRET = "hunter2"
UNUSED = NOTHING_USED


class Beneath(Scope):
    """A scope that knows one prefix, and raises if the test says so."""

    root: str = "/srv/"

    def violation(self, function: str, payload: Mapping[str, Any]) -> Violation | None:
        if payload.get("path") == "break":
            raise KeyError(SECRET)
        if function == "read" and str(payload.get("path", "")).startswith(self.root):
            return None
        return Violation("allowlist", f"`{payload.get('path')}` is outside")


@dataclass(frozen=True, slots=True)
class Terms:
    """What a grant holds of a capability, as the real one does."""

    name: str = "files.read"
    rule: str | None = "files.*"
    withheld: ReasonCode | None = None
    scope: Scope | None = None
    rate: Rate | None = None
    approve: str | None = None
    dry_run: str | None = None

    def problems_in(self, payload: Mapping[str, Any]) -> tuple[Problem, ...]:
        if isinstance(payload.get("path"), str):
            return ()
        return (Problem("path", "a string", "a number"), Problem("", "fewer keys", "2 keys"))


@dataclass(frozen=True, slots=True)
class Grant:
    terms: Mapping[str, CapabilityTerms]
    policy_id: str = "reader"
    policy_sha256: str = "ab" * 32
    limits: Limits = field(default_factory=lambda: Limits(calls=10, concurrency=2))
    revoked: frozenset[str] = frozenset()


def grant_of(*terms: CapabilityTerms, **more: Any) -> Grant:
    return Grant({each.name: each for each in terms}, **more)


def asked(grant: Grant, usage: Usage = UNUSED, /, **payload: Any) -> Decision:
    return decide(grant, Request("files.read", payload or {"path": "/srv/a"}), usage)


SCOPED = Terms(scope=Beneath(), rate=Rate(5, 60))


class TestRules:
    def test_what_nothing_refuses_is_allowed(self) -> None:
        """An allow carries its rule and the policy that it comes from."""
        decision = asked(grant_of(SCOPED), Usage(9, 1, 4, False))
        expected = Decision(True, ReasonCode.ALLOWED, "files.*", "reader", "ab" * 32, "allowed")
        assert decision == expected

    def test_a_repeat_under_its_key_is_not_held_to_the_rate(self) -> None:
        """It has no effect by itself; everything else still applies to it."""
        full = Usage(0, 0, 5, False)
        repeat = msgspec.structs.replace(full, key=KeyUse.REPEAT)
        assert asked(grant_of(SCOPED), full).reason is ReasonCode.RATE_EXCEEDED
        assert asked(grant_of(SCOPED), repeat).allowed
        outside = asked(grant_of(SCOPED), repeat, path="/etc/passwd")
        assert outside.reason is ReasonCode.SCOPE_VIOLATION

    def test_a_key_with_other_arguments_is_refused(self) -> None:
        """The problem names the key, not an argument."""
        decision = asked(grant_of(SCOPED), msgspec.structs.replace(UNUSED, key=KeyUse.CONFLICT))
        assert decision.reason is ReasonCode.PAYLOAD_INVALID
        assert [problem.path for problem in decision.problems] == ["idempotency_key"]

    def test_an_unknown_capability_is_refused_and_the_nearest_is_named(self) -> None:
        """What is not registered cannot be allowed by any policy."""
        decision = decide(grant_of(SCOPED), Request("files.raed", {}), UNUSED)
        assert decision.reason is ReasonCode.UNKNOWN_CAPABILITY
        assert decision.message == "`files.raed` is not a registered capability"
        assert (decision.rule, decision.nearest) == (None, "files.read")

    def test_a_suggestion_costs_time_and_ends_with_the_calls(self) -> None:
        """Code that spent its calls cannot make the host compare names."""
        decision = decide(grant_of(SCOPED), Request("files.raed", {}), Usage(10, 0, 0, False))
        assert (decision.reason, decision.nearest) == (ReasonCode.UNKNOWN_CAPABILITY, None)

    @pytest.mark.parametrize(
        ("reason", "rule", "message", "change"),
        [
            (
                ReasonCode.NOT_ALLOWED,
                None,
                "`files.read` is allowed by no rule of policy `reader`",
                "allow: files.read",
            ),
            (
                ReasonCode.DENIED_BY_RULE,
                "files.*",
                "`files.read` is denied by rule `files.*` of policy `reader`",
                "remove deny: files.*",
            ),
            (
                ReasonCode.SCOPE_MISSING,
                "files.*",
                "`files.read` is allowed by rule `files.*` of policy `reader`"
                " but has no `scopes.files`",
                "scopes: files",
            ),
        ],
    )
    def test_what_is_withheld_says_why_and_what_would_change_it(
        self, reason: ReasonCode, rule: str | None, message: str, change: str
    ) -> None:
        """The operator reads the rule that stands in the way."""
        decision = asked(grant_of(Terms(withheld=reason, rule=rule)))
        assert (decision.allowed, decision.reason, decision.rule) == (False, reason, rule)
        assert (decision.message, decision.nearest) == (message, change)

    @pytest.mark.parametrize(
        ("use", "reason", "message"),
        [
            (ApprovalUse.NONE, ReasonCode.APPROVAL_REQUIRED, "needs an approval"),
            (ApprovalUse.DENIED, ReasonCode.APPROVAL_DENIED, "was denied its approval"),
            (ApprovalUse.TIMED_OUT, ReasonCode.APPROVAL_TIMEOUT, "was not approved in time"),
        ],
    )
    def test_without_its_approval_a_call_is_refused(
        self, use: ApprovalUse, reason: ReasonCode, message: str
    ) -> None:
        """Not requested, denied and too late are distinguished; the rule is the one that asks."""
        usage = msgspec.structs.replace(UNUSED, approval=use)
        decision = asked(grant_of(Terms(approve="files.read")), usage)
        assert (decision.allowed, decision.reason, decision.rule) == (False, reason, "files.read")
        by = "by rule `files.read` of policy `reader`"
        assert decision.message == f"`files.read` {message}, {by}"
        assert decision.nearest == "remove approve: files.read"

    def test_an_approval_is_asked_for_last_and_allows_nothing_else(self) -> None:
        """What another rule refuses is not a person's to approve."""
        given = msgspec.structs.replace(UNUSED, approval=ApprovalUse.GIVEN)
        grant = grant_of(Terms(approve="files.*", scope=Beneath()))
        assert asked(grant, UNUSED, path="/etc/a").reason is ReasonCode.SCOPE_VIOLATION
        assert asked(grant, given, path="/etc/a").reason is ReasonCode.SCOPE_VIOLATION
        assert asked(grant, UNUSED).reason is ReasonCode.APPROVAL_REQUIRED
        assert (asked(grant, given).allowed, asked(grant, given).rule) == (True, "files.*")

    def test_a_repeat_under_its_key_needs_no_approval(self) -> None:
        """It has no effect by itself."""
        repeat = msgspec.structs.replace(UNUSED, key=KeyUse.REPEAT)
        assert asked(grant_of(Terms(approve="files.*")), repeat).allowed

    def test_an_allow_says_which_rule_in_dry_run_would_have_refused_it(self) -> None:
        """A refusal does not: the rule would have turned nothing."""
        grant = grant_of(Terms(dry_run="files.read", scope=Beneath()))
        assert (asked(grant).allowed, asked(grant).dry_run_rule) == (True, "files.read")
        assert asked(grant, UNUSED, path="/etc/a").dry_run_rule is None

    def test_a_revoked_capability_is_refused(self) -> None:
        """A grant can be taken back while the execution runs."""
        decision = asked(grant_of(SCOPED, revoked=frozenset({"files.read"})))
        assert decision.reason is ReasonCode.REVOKED
        other = asked(grant_of(SCOPED, revoked=frozenset({"files.write"})))
        assert other.reason is ReasonCode.ALLOWED

    @pytest.mark.parametrize(
        ("usage", "reason", "rule", "bound"),
        [
            (Usage(0, 0, 0, True), ReasonCode.DEADLINE_PASSED, "limits.wall_ms", 30_000),
            (Usage(10, 0, 0, False), ReasonCode.CALLS_EXCEEDED, "limits.calls", 10),
            (Usage(0, 2, 0, False), ReasonCode.CONCURRENCY_EXCEEDED, "limits.concurrency", 2),
            (Usage(0, 0, 5, False), ReasonCode.RATE_EXCEEDED, "limits.rates", "5/min"),
        ],
    )
    def test_a_limit_that_is_reached_refuses(
        self, usage: Usage, reason: ReasonCode, rule: str, bound: int | str
    ) -> None:
        """A limit of n lets n through and not one more."""
        decision = asked(grant_of(SCOPED), usage)
        assert (decision.reason, decision.rule, decision.bound) == (reason, rule, bound)
        assert decision.message.endswith(f"is over `{rule}` of policy `reader`, which is {bound}")

    def test_without_a_rate_the_window_does_not_matter(self) -> None:
        """Only a capability with a rate is counted by it."""
        assert asked(grant_of(Terms()), Usage(0, 0, 10**6, False)).allowed

    def test_a_payload_that_does_not_fit_its_schema_is_refused(self) -> None:
        """The decision carries every problem, and its message none of the payload."""
        decision = asked(grant_of(SCOPED), path=5)
        assert decision.reason is ReasonCode.PAYLOAD_INVALID
        assert [p.path for p in decision.problems] == ["path", ""]
        assert decision.message == "the payload of `files.read` does not fit its schema"

    def test_a_payload_outside_the_scope_is_refused(self) -> None:
        """The rule is the key of the scope; what quotes the payload is kept out of the message."""
        decision = asked(grant_of(SCOPED), path=SECRET)
        assert decision.reason is ReasonCode.SCOPE_VIOLATION
        assert decision.rule == "scopes.files.allowlist"
        assert SECRET not in decision.message
        assert decision.detail == f"`{SECRET}` is outside"

    def test_the_order_of_the_rules(self) -> None:
        """When everything is wrong, correcting the first shows the next, down to an allow."""
        terms = replace(SCOPED, withheld=ReasonCode.DENIED_BY_RULE)
        revoked = frozenset({"files.read"})
        steps = [
            asked(grant_of(revoked=revoked), Usage(10, 2, 5, True), path=5),
            asked(grant_of(terms, revoked=revoked), Usage(10, 2, 5, True), path=5),
            asked(grant_of(SCOPED, revoked=revoked), Usage(10, 2, 5, True), path=5),
            asked(grant_of(SCOPED), Usage(10, 2, 5, True), path=5),
            asked(grant_of(SCOPED), Usage(10, 2, 5, False), path=5),
            asked(grant_of(SCOPED), Usage(9, 2, 5, False), path=5),
            asked(grant_of(SCOPED), Usage(9, 1, 5, False), path=5),
            asked(grant_of(SCOPED), Usage(9, 1, 4, False), path=5),
            asked(grant_of(SCOPED), Usage(9, 1, 4, False), path="/etc/a"),
            asked(grant_of(SCOPED), Usage(9, 1, 4, False), path="/srv/a"),
        ]
        assert [step.reason for step in steps] == [
            ReasonCode.UNKNOWN_CAPABILITY,
            ReasonCode.DENIED_BY_RULE,
            ReasonCode.REVOKED,
            ReasonCode.DEADLINE_PASSED,
            ReasonCode.CALLS_EXCEEDED,
            ReasonCode.CONCURRENCY_EXCEEDED,
            ReasonCode.RATE_EXCEEDED,
            ReasonCode.PAYLOAD_INVALID,
            ReasonCode.SCOPE_VIOLATION,
            ReasonCode.ALLOWED,
        ]


class TestFailClosed:
    def test_a_scope_that_raises_is_a_refusal_without_its_text(self) -> None:
        """The class of the error is named; its text, which may quote the payload, is not."""
        decision = asked(grant_of(SCOPED), path="break")
        assert decision.reason is ReasonCode.INTERNAL_ERROR
        assert decision.message == "the rules could not be evaluated, `KeyError`"
        assert SECRET not in repr(decision)

    def test_a_base_scope_that_says_nothing_is_a_refusal(self) -> None:
        """A scope model that forgot its rule allows nothing."""
        assert asked(grant_of(Terms(scope=Scope()))).reason is ReasonCode.INTERNAL_ERROR

    @pytest.mark.parametrize("answer", [None, False, 0, True])
    def test_a_schema_check_that_answers_nonsense_is_a_refusal(self, answer: Any) -> None:
        """Only the empty tuple says that there is no problem."""

        class Broken(Terms):
            def problems_in(self, payload: Mapping[str, Any]) -> tuple[Problem, ...]:
                return answer  # type: ignore[no-any-return]

        assert asked(grant_of(Broken())).reason is ReasonCode.INTERNAL_ERROR

    @pytest.mark.parametrize("answer", [False, True, "", "outside"])
    def test_a_scope_that_answers_nonsense_is_a_refusal(self, answer: Any) -> None:
        """Only None says that there is no violation."""

        class Broken(Scope):
            def violation(self, function: str, payload: Mapping[str, Any]) -> Violation | None:
                return answer  # type: ignore[no-any-return]

        assert asked(grant_of(Terms(scope=Broken()))).reason is ReasonCode.INTERNAL_ERROR

    def test_a_name_that_is_no_name_is_a_refusal(self) -> None:
        """Names come from the worker: of a wrong type or hostile, they are refused, on one line."""
        odd: Any = ["files.read"]
        assert decide(grant_of(SCOPED), Request(odd, {}), UNUSED).reason == "internal_error"
        decision = decide(grant_of(SCOPED), Request("x\n" * 10_000, {}), UNUSED)
        assert decision.reason is ReasonCode.UNKNOWN_CAPABILITY
        assert "\n" not in decision.message
        assert len(decision.message) < 200

    def test_a_reason_that_cannot_withhold_is_a_refusal(self) -> None:
        """Terms that contradict themselves allow nothing."""
        decision = asked(grant_of(Terms(withheld=ReasonCode.ALLOWED)))
        assert decision.reason is ReasonCode.INTERNAL_ERROR

    @pytest.mark.parametrize("reason", ReasonCode)
    def test_a_decision_cannot_contradict_itself(self, reason: ReasonCode) -> None:
        """Allowed if and only if the reason is `allowed`."""
        with pytest.raises(ValueError, match="cannot be allowed"):
            Decision(reason is not ReasonCode.ALLOWED, reason, None, "p", "0", "")


class TestTerms:
    @pytest.mark.parametrize(
        ("source", "scoped", "given", "expected"),
        [
            ({}, False, False, (None, ReasonCode.NOT_ALLOWED)),
            ({}, True, True, (None, ReasonCode.NOT_ALLOWED)),
            ({"allow": ["files.read"]}, False, False, ("files.read", None)),
            ({"allow": ["files.*"]}, True, True, ("files.*", None)),
            ({"allow": ["files.*"]}, True, False, ("files.*", ReasonCode.SCOPE_MISSING)),
            (
                {"allow": ["files.*"], "deny": ["files.read"]},
                True,
                True,
                ("files.read", ReasonCode.DENIED_BY_RULE),
            ),
            ({"allow": ["files.read"], "approve": ["files.*"]}, True, True, ("files.read", None)),
            (
                {"allow": ["files.*"], "deny": [{"rule": "files.read", "mode": "dry_run"}]},
                True,
                True,
                ("files.*", None),
            ),
            ({"approve": ["files.*"]}, True, True, (None, ReasonCode.NOT_ALLOWED)),
            (
                {"deny": ["files.*"], "approve": ["files.*"]},
                True,
                True,
                ("files.*", ReasonCode.DENIED_BY_RULE),
            ),
        ],
    )
    def test_a_policy_meets_a_capability(
        self,
        source: dict[str, Any],
        scoped: bool,
        given: bool,
        expected: tuple[str | None, ReasonCode | None],
    ) -> None:
        """What is granted needs an allow, its scope, and no deny that is in force."""
        policy = load_policy(source).policy
        assert evaluate_terms(policy, "files.read", scoped, given) == expected


class TestErrors:
    def test_a_payload_error_is_structured(self) -> None:
        """The caller learns each path, what was expected and what was given."""
        error = error_for(asked(grant_of(SCOPED), path=5), "files.read")
        assert isinstance(error, ValidationError)
        assert error.capability == "files.read"
        assert error.problems == [
            {"path": "path", "expected": "a string", "got": "a number"},
            {"path": "", "expected": "fewer keys", "got": "2 keys"},
        ]
        assert error.message == (
            "the payload of `files.read` does not fit its schema: "
            "`path` should be a string, got a number (and 1 more)"
        )

    @pytest.mark.parametrize(
        ("usage", "limit", "allowed"),
        [
            (Usage(0, 0, 0, True), "wall_ms", 30_000),
            (Usage(10, 0, 0, False), "calls", 10),
            (Usage(0, 2, 0, False), "concurrency", 2),
            (Usage(0, 0, 5, False), "rates", "5/min"),
        ],
    )
    def test_a_limit_error_names_the_limit(
        self, usage: Usage, limit: str, allowed: int | str
    ) -> None:
        """The caller can see which limit it reached and wait, or ask for more."""
        error = error_for(asked(grant_of(SCOPED), usage), "files.read")
        assert isinstance(error, LimitExceededError)
        assert (error.limit, error.allowed) == (limit, allowed)

    def test_a_denial_names_the_capability_and_the_policy_but_no_rule(self) -> None:
        """Untrusted code learns that it may not, and not how the policy is written."""
        decision = asked(grant_of(Terms(withheld=ReasonCode.DENIED_BY_RULE, rule="files.*")))
        error = error_for(decision, "files.read")
        assert isinstance(error, PolicyDeniedError)
        assert error.message == "`files.read` is not granted by policy `reader`"
        assert error.details == {
            "capability": "files.read",
            "reason": "denied_by_rule",
            "policy_id": "reader",
        }

    def test_a_scope_violation_says_what_was_outside(self) -> None:
        """It is the caller's own payload, so the caller may read about it."""
        error = error_for(asked(grant_of(SCOPED), path="/etc/passwd"), "files.read")
        assert error.message == (
            "`files.read` is not granted by policy `reader` for these arguments: "
            "`/etc/passwd` is outside"
        )

    @pytest.mark.parametrize("reason", [r for r in ReasonCode if r is not ReasonCode.ALLOWED])
    def test_every_refusal_has_an_error_that_the_wire_can_carry(self, reason: ReasonCode) -> None:
        """No reason is without its class, and every message is one line."""
        decision = Decision(False, reason, "a.*", "reader", "0" * 64, "m", nearest="allow: a.b")
        error = error_for(decision, "a.b\n")
        assert CALL_ERRORS[error.code] is type(error)
        assert len(error.message.splitlines()) == 1
        assert "allow: a.b" not in f"{error.message}{error.details}"

    def test_an_allow_has_no_error(self) -> None:
        """Asking for one is a mistake of the host's code."""
        with pytest.raises(ValueError, match="was allowed"):
            error_for(asked(grant_of(SCOPED)), "files.read")
