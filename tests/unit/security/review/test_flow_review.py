"""Flow rules in the tools that review policies."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from caps import CapabilityRegistry
from caps.capabilities.provider import Scope, Violation
from caps.security.audit import (
    ApprovalRequested,
    AuditEvent,
    AuditRecord,
    CallStatus,
    DecisionMade,
    OutcomeRecorded,
)
from caps.security.policies.load import LoadedPolicy
from caps.security.policy import SecurityPolicy
from caps.security.reasons import ReasonCode
from caps.security.request import Request
from caps.security.review.diff import diff
from caps.security.review.explain import explain
from caps.security.review.learn import learn
from caps.security.review.lint import lint
from caps.security.review.lint_chain import lint_chain
from caps.security.review.log_decisions import DecisionReader
from caps.security.review.replay import Flip, replay
from caps.security.review.scope_answers import ObservedArguments, ScopeProposal
from caps.security.review.width import Breadth

NO_EXFILTRATION = {"id": "f", "after": ["private", "untrusted"], "deny": ["egress"]}
ALL = ["hr.*", "web.*", "mail.*"]


class ShelfScope(Scope):
    """A scope that labels everything, and that learning does not keep."""

    word: str = "shelved"

    def violation(self, function: str, payload: Mapping[str, Any]) -> Violation | None:
        return None

    def possible_labels(self, function: str) -> frozenset[str]:
        return frozenset({self.word})

    @classmethod
    def covering(cls, calls: Any, held: Any) -> ScopeProposal | None:
        return ScopeProposal({"word": "other"}, (), (ObservedArguments("take", {}),))


def _registry() -> CapabilityRegistry:
    registry = CapabilityRegistry()
    registry.domain("shelf", scope=ShelfScope)

    @registry.capability("hr.pay", labels=("private",))
    async def pay() -> str:
        return ""

    @registry.capability("web.get", labels=("untrusted",))
    async def get() -> str:
        return ""

    @registry.capability("mail.send", egress=True)
    async def send() -> str:
        return ""

    @registry.capability("shelf.take")
    async def take() -> str:
        return ""

    return registry


REGISTRY = _registry()


def loaded(**policy: Any) -> LoadedPolicy:
    document = {"allow": ALL, **policy}
    return LoadedPolicy(SecurityPolicy.model_validate(document), "p.json", Path("/base"))


def codes(**policy: Any) -> list[tuple[str, str]]:
    found = lint(REGISTRY, loaded(**policy))
    listed = ("lethal-trifecta", "unknown-rule", "failing-test")
    return [(one.code, one.place) for one in found if one.code in listed]


class TestLint:
    """Private data, untrusted content and a way out."""

    def test_the_three_together_without_a_rule_are_reported_with_a_fix(self) -> None:
        """Once, with one way as an example; the fix removes it."""
        found = lint(REGISTRY, loaded())
        (one,) = [each for each in found if each.code == "lethal-trifecta"]
        assert (one.severity.value, one.place) == ("warning", "/flows")
        assert "`hr.pay` gives private data" in one.message
        assert "no-exfiltration" in one.remedy
        assert codes(flows=[NO_EXFILTRATION]) == []

    @pytest.mark.parametrize(
        "policy",
        [
            {"allow": ["hr.*", "mail.*"]},
            {"allow": ["web.*", "mail.*"]},
            {"allow": ["hr.*", "web.*"]},
            {"deny": ["mail.send"]},
            {"approve": ["mail.send"]},
            {"flows": [{"id": "f", "after": ["private"], "approve": ["mail.*"]}]},
            {"flows": [{"id": "f", "after": ["hr.pay", "web.*"], "deny": ["mail.send"]}]},
        ],
    )
    def test_two_of_them_or_a_rule_between_are_not(self, policy: dict[str, Any]) -> None:
        """A rule may name labels or the functions that give them."""
        assert codes(**policy) == []

    @pytest.mark.parametrize(
        "flow",
        [
            {"id": "f", "after": ["private", "untrusted", "mail.send"], "deny": ["egress"]},
            {"id": "f", "after": ["private", "untrusted"], "deny": ["web.get"]},
        ],
    )
    def test_a_rule_that_need_not_apply_does_not_count(self, flow: dict[str, Any]) -> None:
        """It applies to something else, or only later."""
        assert codes(flows=[flow]) == [("lethal-trifecta", "/flows")]

    def test_several_policies_are_judged_together(self) -> None:
        """A rule of one is enough, and what one withholds is no way out."""

        def found(*policies: LoadedPolicy) -> list[str | None]:
            written = [None] * len(policies)
            listed = lint_chain(REGISTRY, policies, written=written)
            return [one.policy for one in listed if one.code == "lethal-trifecta"]

        own = loaded(id="own")
        assert found(loaded(id="above"), own) == ["own"]
        assert found(loaded(id="above", flows=[NO_EXFILTRATION]), own) == []
        assert found(loaded(id="above", allow=["hr.*"]), own) == []

    def test_what_does_not_exist_is_found_with_its_place(self) -> None:
        """All of it, and the rest of the policy is checked without it."""
        flows = [
            {"id": "a", "after": ["privat"], "deny": ["egress"]},
            {"id": "b", "after": ["private", "hr.pya"], "deny": ["mail.sned"]},
            {**NO_EXFILTRATION, "id": "c"},
        ]
        tests = [{"call": "mail.send", "after": ["privat", "private", "web.get"], "expect": "deny"}]
        found = codes(flows=flows, tests=tests, labels={"web.gte": ["private"]})
        assert sorted(place for _, place in found) == [
            "/flows/0/after/0",
            "/flows/1/after/1",
            "/flows/1/deny/0",
            "/labels/web.gte",
            "/tests/0/after/0",
        ]
        assert {code for code, _ in found} == {"unknown-rule"}


class TestExplain:
    """Which rule, after what."""

    def test_the_rules_that_cover_a_call_and_what_gave_which_label(self) -> None:
        """And it never suggests to drop a flow rule."""
        ask = {"id": "g", "after": ["private"], "approve": ["mail.*"]}
        policy = loaded(flows=[NO_EXFILTRATION, ask])
        found = explain(REGISTRY, policy, Request("mail.send", {}), after=["hr.pay", "untrusted"])
        assert (found.decision.reason, found.decision.rule) == (ReasonCode.FLOW_DENIED, "flows.f")
        assert found.changes == ()
        assert found.hopeless is not None
        assert "rule `flows.f` judges what was read before" in found.hopeless
        assert found.given == (("hr.pay", ("private",)),)
        assert [(one.rule, one.effect, one.missing) for one in found.flows] == [
            ("flows.f", "deny", ()),
            ("flows.g", "approve", ()),
        ]
        asked = explain(REGISTRY, policy, Request("mail.send", {}), after=["hr.pay"])
        assert (asked.decision.reason, asked.changes) == (ReasonCode.APPROVAL_REQUIRED, ())
        assert asked.flows[0].missing == ("untrusted",)
        assert explain(REGISTRY, policy, Request("hr.pay", {})).labels == ("private",)

    def test_a_change_is_tried_after_the_same_answers(self) -> None:
        """Allowing the capability is not enough, so it is not suggested."""
        policy = loaded(allow=["hr.pay"], flows=[NO_EXFILTRATION])
        request = Request("mail.send", {})
        assert len(explain(REGISTRY, policy, request).changes) == 1
        found = explain(REGISTRY, policy, request, after=["private", "untrusted"])
        assert (found.changes, found.policy) == ((), None)


class TestDiff:
    """A rule that was removed or weakened is wider."""

    @pytest.mark.parametrize(
        ("older", "newer", "verdict"),
        [
            ([NO_EXFILTRATION], [], Breadth.WIDER),
            ([], [NO_EXFILTRATION], Breadth.NARROWER),
            ([NO_EXFILTRATION], [{**NO_EXFILTRATION, "id": "renamed"}], Breadth.SAME),
            ([NO_EXFILTRATION], [{**NO_EXFILTRATION, "after": ["private"]}], Breadth.NARROWER),
            ([NO_EXFILTRATION], [{**NO_EXFILTRATION, "deny": ["web.*"]}], Breadth.MIXED),
            (
                [NO_EXFILTRATION],
                [{"id": "f", "after": ["private", "untrusted"], "approve": ["egress"]}],
                Breadth.WIDER,
            ),
            (
                [NO_EXFILTRATION],
                [{"id": "f", "after": ["private"], "approve": ["egress"]}],
                Breadth.MIXED,
            ),
        ],
    )
    def test_rules_are_compared_by_their_effect(
        self, older: list[Any], newer: list[Any], verdict: Breadth
    ) -> None:
        """Function by function, whatever they are called."""
        assert diff(REGISTRY, loaded(flows=older), loaded(flows=newer)).verdict is verdict

    def test_a_label_that_is_gone_is_wider_if_a_rule_is_about_it(self) -> None:
        """Else it has no effect."""
        labels = {"labels": {"mail.send": ["private"]}}
        flows = {"flows": [NO_EXFILTRATION]}
        found = diff(REGISTRY, loaded(**labels, **flows), loaded(**flows))
        assert (found.verdict, found.flows[0].place) == (Breadth.WIDER, "labels.mail.send")
        assert diff(REGISTRY, loaded(**labels), loaded()).verdict is Breadth.SAME


WHO: dict[str, Any] = {"execution_id": "e1", "principal": "ada"}


def decided(capability: str, request: str, **more: Any) -> DecisionMade:
    fields: dict[str, Any] = {
        "decision": "allow",
        "reason": "allowed",
        "message": "",
        "policy_id": "p",
        "policy_sha256": "0",
        "args_hmac": "",
        "shown": {},
        "hidden": {},
    }
    return DecisionMade(**{**WHO, **fields, **more}, capability=capability, request_id=request)


def ended(capability: str, request: str, **more: Any) -> OutcomeRecorded:
    fields: dict[str, Any] = {"status": CallStatus.OK, "duration_us": 1, "bytes_out": 1}
    return OutcomeRecorded(**{**WHO, **fields, **more}, capability=capability, request_id=request)


def asked(capability: str, request: str) -> ApprovalRequested:
    made = decided(capability, request)
    return ApprovalRequested(
        **WHO,
        approval="a1",
        request_id=request,
        capability=capability,
        rule=capability,
        policy_id="p",
        policy_sha256="0",
        args_hmac=made.args_hmac,
        shown={},
        hidden={},
        timeout_ms=1,
    )


def records(*events: AuditEvent) -> list[AuditRecord]:
    return [
        AuditRecord(seq=seq, ts=f"2025-01-01T00:00:00.{seq:06d}Z", prev="", hash="", event=event)
        for seq, event in enumerate(events, start=1)
    ]


class TestLogs:
    """What a log says was answered before a decision."""

    def test_replay_uses_the_labels_that_were_recorded(self) -> None:
        """A rule that is new would have refused the call."""
        log = records(decided("mail.send", "r1", labels=["private", "untrusted"]))
        (one,) = replay(REGISTRY, loaded(flows=[NO_EXFILTRATION]), log)
        assert one.turn is Flip.TO_DENY
        assert (one.answer.reason, one.answer.rule) == (ReasonCode.FLOW_DENIED, "flows.f")

    def test_replay_under_several_policies_joins_their_labels(self) -> None:
        """One gives the label, another has the rule."""
        log = records(decided("mail.send", "r1"), ended("mail.send", "r1"), decided("hr.pay", "r2"))
        rule = {"id": "f", "after": ["private"], "deny": ["hr.*"]}
        labelled = loaded(id="above", labels={"mail.send": ["private"]})
        last = list(replay(REGISTRY, [labelled, loaded(id="own", flows=[rule])], log))[-1]
        assert (last.answer.reason, last.answer.policy) == (ReasonCode.FLOW_DENIED, "own")

    def test_replay_uses_the_functions_that_were_answered(self) -> None:
        """With the labels that the new policy gives them."""
        log = records(
            decided("hr.pay", "r1"),
            ended("hr.pay", "r1"),
            decided("web.get", "r2"),
            ended("web.get", "r2"),
            decided("mail.send", "r3"),
        )
        last = list(replay(REGISTRY, loaded(flows=[NO_EXFILTRATION]), log))[-1]
        assert last.answer.reason == ReasonCode.FLOW_DENIED

    @pytest.mark.parametrize(
        ("outcome", "answered"),
        [
            ({"status": CallStatus.TIMEOUT}, True),
            ({"status": CallStatus.REPLAYED}, True),
            ({"status": CallStatus.CANCELLED}, False),
            ({"status": CallStatus.CANCELLED, "reason": "revoked"}, True),
            ({"status": CallStatus.DENIED, "reason": "scope_violation"}, True),
            ({"status": CallStatus.DENIED, "reason": "revoked"}, False),
            ({"status": CallStatus.DENIED, "reason": "deadline_passed"}, False),
        ],
    )
    def test_what_was_begun_and_answered_counts(
        self, outcome: dict[str, Any], answered: bool
    ) -> None:
        """A call that was not begun was not answered."""
        reader = DecisionReader()
        found = [
            reader.read(record)
            for record in records(
                decided("hr.pay", "r1"), ended("hr.pay", "r1", **outcome), decided("web.get", "r2")
            )
        ][-1]
        assert found is not None
        assert found.functions == (frozenset({"hr.pay"}) if answered else frozenset())

    def test_a_session_shares_what_was_answered_and_others_do_not(self) -> None:
        """By the principal and the name."""
        reader, other = DecisionReader(), {"execution_id": "e2"}
        found = [
            reader.read(record)
            for record in records(
                ended("hr.pay", "r1", session="s"),
                decided("web.get", "r2", session="s", **other),
                decided("web.get", "r2", **other),
                decided("web.get", "r2", session="s", execution_id="e3", principal="bob"),
            )
        ]
        sizes = [len(one.functions) for one in found if one is not None]
        assert sizes == [1, 0, 0]

    def test_a_call_that_waited_counts_from_when_it_began_to_wait(self) -> None:
        """What was answered meanwhile was not sent with it."""
        reader = DecisionReader()
        found = [
            reader.read(record)
            for record in records(
                asked("mail.send", "r1"), ended("hr.pay", "r2"), decided("mail.send", "r1")
            )
        ][-1]
        assert found is not None
        assert found.functions == frozenset()


class TestLearn:
    """Flow rules are kept, and nothing is learned from what they refused."""

    def test_labels_and_flows_of_the_base_are_kept(self) -> None:
        """A refused call is listed with its reason."""
        refused = decided(
            "mail.send", "r2", decision="deny", reason="flow_denied", labels=["private"]
        )
        base = loaded(flows=[NO_EXFILTRATION], labels={"web.*": ["own"]})
        log = records(decided("hr.pay", "r1"), refused)
        found = learn(REGISTRY, log, base=base, directory=Path("/base"), include_denied=True)
        assert found.policy["allow"] == ["hr.pay"]
        assert found.policy["flows"] == [NO_EXFILTRATION]
        assert found.policy["labels"] == {"web.*": ["own"]}
        assert [(one.capability, one.because) for one in found.left_out] == [
            ("mail.send", "it was refused: flow_denied")
        ]

    def test_a_rule_that_could_never_apply_is_left_out_with_a_note(self) -> None:
        """The proposal would not be valid with it."""
        flow = {"id": "g", "after": ["shelved"], "deny": ["egress"]}
        base = loaded(allow=["shelf.*"], flows=[flow], scopes={"shelf": {}})
        log = records(decided("shelf.take", "r1"))
        found = learn(REGISTRY, log, base=base, directory=Path("/base"))
        assert "flows" not in found.policy
        assert any("`flows.g` is left out" in note for note in found.notes)
