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
from caps.security.decision import Decision, asking_rules, decide, evaluate_terms
from caps.security.policies.flow_rules import BoundFlow
from caps.security.policies.load import load_policy
from caps.security.policy import Limits, Rate
from caps.security.reasons import Problem, ReasonCode
from caps.security.refusals import error_for
from caps.security.request import NOTHING_USED, ApprovalUse, KeyUse, Request, Usage
from caps.security.scopes import Scope, Violation
from caps.security.terms import CapabilityTerms

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

    def labels_for(self, function: str, payload: Mapping[str, Any]) -> frozenset[str]:
        odd: dict[str, Any] = {"/srv/bad": "private", "/srv/odd": frozenset({"Not a label"})}
        found = odd.get(payload["path"], frozenset({function} if payload.get("labelled") else ()))
        if payload["path"] == "/srv/break":
            raise KeyError(SECRET)
        return found  # type: ignore[no-any-return]


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
    flows: tuple[BoundFlow, ...] = ()
    labels: frozenset[str] = frozenset()

    def problems_in(self, payload: Mapping[str, Any]) -> tuple[Problem, ...]:
        if isinstance(payload.get("path"), str):
            return ()
        return (Problem("path", "a string", "a number"), Problem("", "fewer keys", "2 keys"))


@dataclass(frozen=True, slots=True)
class Grant:
    terms: Mapping[str, CapabilityTerms]
    policy_id: str = "reader"
    policy_sha256: str = "ab" * 32
    limits: Limits = field(default_factory=lambda: Limits(calls=10, concurrency=2, cost=2.5))
    revoked: frozenset[str] = frozenset()
    uncarded: frozenset[str] = frozenset()
    above: tuple[Grant, ...] = ()

    @property
    def links(self) -> tuple[Grant, ...]:
        return (*self.above, self)


def grant_of(*terms: CapabilityTerms, **more: Any) -> Grant:
    return Grant({each.name: each for each in terms}, **more)


def asked(grant: Grant, usage: Usage = UNUSED, /, **payload: Any) -> Decision:
    return decide(grant, Request("files.read", payload or {"path": "/srv/a"}), usage)


SCOPED = Terms(scope=Beneath(), rate=Rate(5, 60))


class TestRules:
    def test_what_nothing_refuses_is_allowed(self) -> None:
        """An allow carries its rule and the policy that it comes from."""
        decision = asked(grant_of(SCOPED), Usage(9, 1, (4,), False))
        expected = Decision(True, ReasonCode.ALLOWED, "files.*", "reader", "ab" * 32, "allowed")
        assert decision == expected

    def test_a_repeat_under_its_key_is_not_held_to_rate_and_cost(self) -> None:
        """It has no effect by itself; everything else still applies to it."""
        full = Usage(0, 0, (5,), False)
        costly = Usage(0, 0, (), False, KeyUse.REPEAT, cost=9.0)
        assert asked(grant_of(SCOPED), costly).allowed
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
        decision = decide(grant_of(SCOPED), Request("files.raed", {}), Usage(10, 0, (0,), False))
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

    def test_a_capability_without_a_valid_tool_card_is_refused(self) -> None:
        """Only that one, and only if cards are required."""
        decision = asked(grant_of(SCOPED, uncarded=frozenset({"files.read"})))
        assert decision.reason is ReasonCode.TOOL_CARD_INVALID
        other = asked(grant_of(SCOPED, uncarded=frozenset({"files.write"})))
        assert other.allowed

    def test_a_revoked_capability_is_refused(self) -> None:
        """A grant can be taken back while the execution runs."""
        decision = asked(grant_of(SCOPED, revoked=frozenset({"files.read"})))
        assert decision.reason is ReasonCode.REVOKED
        other = asked(grant_of(SCOPED, revoked=frozenset({"files.write"})))
        assert other.reason is ReasonCode.ALLOWED

    @pytest.mark.parametrize(
        ("usage", "reason", "rule", "bound"),
        [
            (Usage(0, 0, (0,), True), ReasonCode.DEADLINE_PASSED, "limits.wall_ms", 30_000),
            (Usage(10, 0, (0,), False), ReasonCode.CALLS_EXCEEDED, "limits.calls", 10),
            (Usage(0, 2, (0,), False), ReasonCode.CONCURRENCY_EXCEEDED, "limits.concurrency", 2),
            (Usage(0, 0, (0,), False, cost=2.6), ReasonCode.COST_EXCEEDED, "limits.cost", 2.5),
            (Usage(0, 0, (5,), False), ReasonCode.RATE_EXCEEDED, "limits.rates", "5/min"),
        ],
    )
    def test_a_limit_that_is_reached_refuses(
        self, usage: Usage, reason: ReasonCode, rule: str, bound: float | str
    ) -> None:
        """A limit of n lets n through and not one more."""
        decision = asked(grant_of(SCOPED), usage)
        assert (decision.reason, decision.rule, decision.bound) == (reason, rule, bound)
        assert decision.message.endswith(f"is over `{rule}` of policy `reader`, which is {bound}")

    def test_without_a_rate_the_window_does_not_matter(self) -> None:
        """Only a capability with a rate is counted by it."""
        assert asked(grant_of(Terms()), Usage(0, 0, (10**6,), False)).allowed

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
            asked(grant_of(revoked=revoked), Usage(10, 2, (5,), True), path=5),
            asked(grant_of(terms, revoked=revoked), Usage(10, 2, (5,), True), path=5),
            asked(grant_of(SCOPED, revoked=revoked), Usage(10, 2, (5,), True), path=5),
            asked(grant_of(SCOPED), Usage(10, 2, (5,), True), path=5),
            asked(grant_of(SCOPED), Usage(10, 2, (5,), False), path=5),
            asked(grant_of(SCOPED), Usage(9, 2, (5,), False), path=5),
            asked(grant_of(SCOPED), Usage(9, 1, (5,), False, cost=3.0), path=5),
            asked(grant_of(SCOPED), Usage(9, 1, (5,), False, cost=2.5), path=5),
            asked(grant_of(SCOPED), Usage(9, 1, (4,), False), path=5),
            asked(grant_of(SCOPED), Usage(9, 1, (4,), False), path="/etc/a"),
            asked(grant_of(SCOPED), Usage(9, 1, (4,), False), path="/srv/a"),
        ]
        assert [step.reason for step in steps] == [
            ReasonCode.UNKNOWN_CAPABILITY,
            ReasonCode.DENIED_BY_RULE,
            ReasonCode.REVOKED,
            ReasonCode.DEADLINE_PASSED,
            ReasonCode.CALLS_EXCEEDED,
            ReasonCode.CONCURRENCY_EXCEEDED,
            ReasonCode.COST_EXCEEDED,
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

    @pytest.mark.parametrize("nonsense", [None, False, 0])
    @pytest.mark.parametrize("field", ["flows", "labels"])
    def test_terms_that_hold_nonsense_are_a_refusal(self, field: str, nonsense: Any) -> None:
        """What is empty, and not of its type, is not taken for a policy that says nothing."""
        terms: Terms = replace(SCOPED, **{field: nonsense})
        assert asked(grant_of(terms)).reason is ReasonCode.INTERNAL_ERROR

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
            "`path` should be a string, got a number; `` should be fewer keys, got 2 keys"
        )

    @pytest.mark.parametrize(
        ("usage", "limit", "allowed"),
        [
            (Usage(0, 0, (0,), True), "wall_ms", 30_000),
            (Usage(10, 0, (0,), False), "calls", 10),
            (Usage(0, 2, (0,), False), "concurrency", 2),
            (Usage(0, 0, (5,), False), "rates", "5/min"),
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


def flow(*after: str, name: str = "f", asks: bool = False) -> BoundFlow:
    return BoundFlow(name, frozenset(after), asks)


def after(*marks: str, **more: Any) -> Usage:
    return msgspec.structs.replace(UNUSED, answered=frozenset(marks), **more)


class TestFlows:
    """What the channel was answered decides what may be called."""

    def test_a_rule_denies_once_all_of_after_was_answered(self) -> None:
        """One of two labels is not enough; the message says which rule and after what."""
        grant = grant_of(replace(SCOPED, flows=(flow("private", "untrusted"),)))
        assert asked(grant).allowed
        assert asked(grant, after("private")).allowed
        denied = asked(grant, after("private", "untrusted", "mine"))
        assert (denied.reason, denied.rule) == (ReasonCode.FLOW_DENIED, "flows.f")
        assert denied.message == (
            "`files.read` is denied after `private` and `untrusted` by rule `flows.f` "
            "of policy `reader`"
        )
        assert denied.nearest is None

    def test_a_function_counts_as_a_label_does(self) -> None:
        """By its name or by its domain."""
        grant = grant_of(replace(SCOPED, flows=(flow("mail.read"),)))
        assert asked(grant, after("mail.send", "mail.*")).allowed
        assert not asked(grant, after("mail.read", "mail.*")).allowed

    def test_a_rule_that_asks_needs_an_approval(self) -> None:
        """And is satisfied by one, as a rule of `approve` is."""
        grant = grant_of(replace(SCOPED, flows=(flow("private", asks=True),)))
        waiting = asked(grant, after("private"))
        assert (waiting.reason, waiting.rule) == (ReasonCode.APPROVAL_REQUIRED, "flows.f")
        assert waiting.nearest is None
        assert asked(grant, after("private", approval=ApprovalUse.GIVEN)).allowed
        refused = asked(grant, after("private", approval=ApprovalUse.DENIED))
        assert (refused.reason, refused.rule) == (ReasonCode.APPROVAL_DENIED, "flows.f")

    def test_no_approval_and_no_key_overrules_a_denial(self) -> None:
        """A repeat has no effect, and is refused all the same."""
        grant = grant_of(replace(SCOPED, flows=(flow("private"),), approve="files.*"))
        for more in ({"approval": ApprovalUse.GIVEN}, {"key": KeyUse.REPEAT}):
            assert asked(grant, after("private", **more)).reason is ReasonCode.FLOW_DENIED

    def test_the_scope_refuses_first_and_a_denial_comes_before_an_approval(self) -> None:
        """The order in the docstring of the module."""
        terms = replace(SCOPED, flows=(flow("private", asks=True), flow("private", name="g")))
        grant = grant_of(replace(terms, approve="files.*"))
        outside = asked(grant, after("private"), path="/etc/passwd")
        assert outside.reason is ReasonCode.SCOPE_VIOLATION
        assert asked(grant, after("private")).rule == "flows.g"
        assert asked(grant).rule == "files.*"

    def test_all_rules_that_ask_are_known(self) -> None:
        """A standing approval holds for the same rules only."""
        flows = (flow("private", asks=True), flow("untrusted", name="g", asks=True), flow("x"))
        terms = replace(SCOPED, flows=flows, approve="files.*")
        assert asking_rules(terms, frozenset({"untrusted"})) == ("flows.g", "files.*")
        assert asking_rules(terms, frozenset()) == ("files.*",)
        assert asking_rules(SCOPED, frozenset({"private"})) == ()

    def test_an_allow_has_the_labels_of_the_terms_and_of_the_scope(self) -> None:
        """They are known before the provider is called."""
        grant = grant_of(replace(SCOPED, labels=frozenset({"private"})))
        assert asked(grant).labels == {"private"}
        assert asked(grant, path="/srv/a", labelled=True).labels == {"private", "read"}
        assert asked(grant, path="/etc/a", labelled=True).labels == frozenset()

    @pytest.mark.parametrize("path", ["/srv/break", "/srv/bad", "/srv/odd"])
    def test_a_scope_that_cannot_say_its_labels_refuses(self, path: str) -> None:
        """An answer without its labels could be sent anywhere."""
        assert asked(grant_of(SCOPED), path=path).reason is ReasonCode.INTERNAL_ERROR

    def test_the_caller_learns_the_rule(self) -> None:
        """And no more of the policy than that."""
        grant = grant_of(replace(SCOPED, flows=(flow("private"),)))
        error = error_for(asked(grant, after("private")), "files.read")
        assert isinstance(error, PolicyDeniedError)
        assert error.details["reason"] == "flow_denied"
        assert error.message == (
            "`files.read` is not granted by policy `reader` after what was read before, "
            "by rule `flows.f`"
        )


LOOSE = Limits(calls=100, concurrency=100)


class TestSeveralPolicies:
    """Each must allow; the policy that refuses is named, and for an allowed call the last one."""

    def chain(self, ceiling: Grant, own: Terms = SCOPED, limits: Limits = LOOSE) -> Grant:
        ceiling = replace(ceiling, policy_id="ceiling", policy_sha256="cd" * 32)
        return grant_of(own, limits=limits, above=(ceiling,))

    def test_what_all_allow_is_allowed_by_the_last(self) -> None:
        """With its own rule."""
        own = replace(SCOPED, rule="files.read")
        decision = asked(self.chain(grant_of(SCOPED, limits=LOOSE), own))
        assert decision.allowed
        assert (decision.policy_id, decision.rule) == ("reader", "files.read")

    @pytest.mark.parametrize(
        ("above", "reason", "rule"),
        [
            ((), ReasonCode.UNKNOWN_CAPABILITY, None),
            (Terms(rule=None, withheld=ReasonCode.NOT_ALLOWED), ReasonCode.NOT_ALLOWED, None),
            (Terms(withheld=ReasonCode.DENIED_BY_RULE), ReasonCode.DENIED_BY_RULE, "files.*"),
            (Terms(withheld=ReasonCode.SCOPE_MISSING), ReasonCode.SCOPE_MISSING, "files.*"),
            (
                Terms(scope=Beneath(root="/srv/own/")),
                ReasonCode.SCOPE_VIOLATION,
                "scopes.files.allowlist",
            ),
            (Terms(approve="files.*"), ReasonCode.APPROVAL_REQUIRED, "files.*"),
        ],
    )
    @pytest.mark.parametrize("last", [False, True])
    def test_one_that_refuses_decides_and_is_named(
        self, above: Terms | tuple[()], reason: ReasonCode, rule: str | None, last: bool
    ) -> None:
        """Wherever it stands."""
        terms = [above] if isinstance(above, Terms) else []
        refusing = grant_of(*terms, limits=LOOSE, policy_id="refusing")
        other = grant_of(SCOPED, limits=LOOSE)
        grant = replace(refusing, above=(other,)) if last else replace(other, above=(refusing,))
        decision = asked(grant)
        assert (decision.reason, decision.rule) == (reason, rule)
        assert decision.policy_id == "refusing"

    @pytest.mark.parametrize(
        ("usage", "limits", "rule"),
        [
            (Usage(0, 0, (), True), Limits(wall_ms=5), "limits.wall_ms"),
            (Usage(3, 0, (), False), Limits(calls=3), "limits.calls"),
            (Usage(0, 3, (), False), Limits(concurrency=3), "limits.concurrency"),
        ],
    )
    def test_the_lowest_limit_counts_and_names_its_policy(
        self, usage: Usage, limits: Limits, rule: str
    ) -> None:
        """`limits` of a grant are the lowest of its policies."""
        wide, tight = grant_of(SCOPED, limits=LOOSE), grant_of(SCOPED, limits=limits)
        above = replace(tight, policy_id="tight"), replace(wide, policy_id="wide")
        decision = asked(grant_of(SCOPED, limits=limits, above=above), usage)
        assert (decision.rule, decision.policy_id) == (rule, "tight")
        assert decision.bound in (3, 5)

    def test_rates_are_counted_for_each_policy(self) -> None:
        """A full window of one refuses, whichever it is; the other may have room."""
        ceiling = grant_of(replace(SCOPED, rate=Rate(2, 60)), limits=LOOSE)
        grant = self.chain(ceiling)
        assert asked(grant, Usage(0, 0, (1, 4), False)).allowed
        over = asked(grant, Usage(0, 0, (2, 0), False))
        assert (over.policy_id, over.bound) == ("ceiling", "2/min")
        over = asked(grant, Usage(0, 0, (0, 5), False))
        assert (over.policy_id, over.bound) == ("reader", "5/min")
        assert asked(grant, Usage(0, 0, (9, 9), False, KeyUse.REPEAT)).allowed

    def test_counts_that_do_not_fit_the_policies_are_refused(self) -> None:
        """A count that is missing is not a count of none."""
        grant = self.chain(grant_of(SCOPED, limits=LOOSE))
        decision = asked(grant, Usage(0, 0, (1,), False))
        assert decision.reason is ReasonCode.INTERNAL_ERROR

    def test_a_grant_without_policies_allows_nothing(self) -> None:
        """Nobody has allowed it."""

        class Empty(Grant):
            @property
            def links(self) -> tuple[Grant, ...]:
                return ()

        decision = asked(Empty({"files.read": SCOPED}))
        assert decision.reason is ReasonCode.INTERNAL_ERROR

    def test_nobody_is_asked_for_what_another_policy_refuses(self) -> None:
        """The approval is the last rule, for all policies."""
        ceiling = grant_of(replace(SCOPED, approve="files.*"), limits=LOOSE)
        outside = self.chain(ceiling, replace(SCOPED, scope=Beneath(root="/own/")))
        assert asked(outside).reason is ReasonCode.SCOPE_VIOLATION
        given = msgspec.structs.replace(UNUSED, approval=ApprovalUse.GIVEN)
        assert not asked(outside, given).allowed

    def test_one_approval_is_enough_for_all_that_want_one(self) -> None:
        """The first that wants it is named to the person who is asked."""
        ceiling = grant_of(replace(SCOPED, approve="files.read"), limits=LOOSE)
        grant = self.chain(ceiling, replace(SCOPED, approve="files.*"))
        waiting = asked(grant)
        assert (waiting.rule, waiting.policy_id) == ("files.read", "ceiling")
        assert asked(grant, msgspec.structs.replace(UNUSED, approval=ApprovalUse.GIVEN)).allowed

    def test_the_schema_is_asked_once(self) -> None:
        """It is the same for all policies; the last is named."""
        count = []

        @dataclass(frozen=True, slots=True)
        class Counting(Terms):
            def problems_in(self, payload: Mapping[str, Any]) -> tuple[Problem, ...]:
                count.append(payload)
                return ()

        assert asked(self.chain(grant_of(Counting(), limits=LOOSE), Counting())).allowed
        assert len(count) == 1
        assert asked(self.chain(grant_of(SCOPED, limits=LOOSE)), path=5).policy_id == "reader"

    def test_a_rule_in_dry_run_names_its_policy_if_it_is_another(self) -> None:
        """Of several the first."""
        ceiling = grant_of(replace(SCOPED, dry_run="files.read"), limits=LOOSE)
        decision = asked(self.chain(ceiling, replace(SCOPED, dry_run="files.*")))
        assert decision.allowed
        assert (decision.dry_run_rule, decision.dry_run_policy) == ("files.read", "ceiling")
        plain = asked(
            self.chain(grant_of(SCOPED, limits=LOOSE), replace(SCOPED, dry_run="files.*"))
        )
        assert (plain.dry_run_rule, plain.dry_run_policy) == ("files.*", None)

    def test_the_flows_of_each_policy_are_asked_and_labels_are_joined(self) -> None:
        """The first that denies is named; a denial of one comes before an approval of another."""
        above = replace(SCOPED, flows=(flow("private"),), labels=frozenset({"mine"}))
        own = replace(SCOPED, flows=(flow("private", name="g", asks=True),), labels=frozenset("a"))
        grant = self.chain(grant_of(above, limits=LOOSE), own)
        assert asked(grant, path="/srv/a", labelled=True).labels == {"mine", "a", "read"}
        denied = asked(grant, after("private"))
        assert (denied.rule, denied.policy_id) == ("flows.f", "ceiling")
        turned = self.chain(grant_of(own, limits=LOOSE), above)
        denied = asked(turned, after("private", approval=ApprovalUse.GIVEN))
        assert (denied.rule, denied.policy_id) == ("flows.f", "reader")
        asks = self.chain(grant_of(own, limits=LOOSE), replace(SCOPED, approve="files.*"))
        waiting = asked(asks, after("private"))
        assert (waiting.rule, waiting.policy_id) == ("flows.g", "ceiling")
        assert asked(asks).rule == "files.*"

    def test_what_was_revoked_is_refused_for_all(self) -> None:
        """It is the grant that was revoked, not a policy."""
        grant = replace(
            self.chain(grant_of(SCOPED, limits=LOOSE)), revoked=frozenset({"files.read"})
        )
        decision = asked(grant)
        assert (decision.reason, decision.policy_id) == (ReasonCode.REVOKED, "reader")
