"""(6) What a channel was answered, and what its calls are decided by."""

from __future__ import annotations

import anyio
import pytest

from caps.capabilities.broker.flow import FlowState, SessionFlows
from caps.capabilities.broker.lifecycle import Call
from caps.capabilities.identity import Identity
from caps.capabilities.provider import CallContext
from caps.protocol.errors import ConfigurationError
from caps.security.approvals.model import ApprovalAnswer, ApprovalRequest
from caps.security.audit import ApprovalRequested, CallStatus
from caps.security.reasons import ReasonCode
from caps.worker.host.supervisor.interface import CallResponse
from support.broker_setup import drive_batch
from support.flow_setup import ASK_FIRST, NO_EXFILTRATION, FlowSetup, reason_of, value_of

pytestmark = pytest.mark.anyio

AFTER_PRIVATE = {"id": "closed", "after": ["private"], "deny": ["egress"]}


async def sends(setup: FlowSetup) -> bool:
    """Whether something can be sent now, by either driver; both must agree."""
    (inline,) = await setup.batch([setup.request("out.send", data="x")])
    slow = await setup.call("out.slow_send", data="x")
    assert (inline.failure is None) is (slow.failure is None)
    if inline.failure is not None:
        assert reason_of(inline) == reason_of(slow) == "flow_denied"
    return inline.failure is None


class TestState:
    """The marks of one channel."""

    def test_marks_are_added_and_never_fall(self) -> None:
        """A snapshot stays what it was."""
        flow = FlowState({"private"})
        before = flow.answered
        flow.add("files.read", frozenset({"untrusted"}))
        assert before == {"private"}
        assert flow.answered == {"private", "untrusted", "files.read", "files.*"}
        assert flow.labels == ("private", "untrusted")
        same = flow.answered
        flow.add("files.read", frozenset())
        assert flow.answered is same

    def test_a_session_is_known_by_principal_and_name(self) -> None:
        """Executions that name no session share nothing."""
        flows = SessionFlows()
        one = flows.of(Identity(principal="ada", session="s"))
        assert flows.of(Identity(principal="ada", session="s", agent="other")) is one
        assert flows.of(Identity(principal="bob", session="s")) is not one
        assert flows.of(Identity(principal="ada", session="t")) is not one
        unnamed = Identity(principal="ada")
        assert flows.of(unnamed) is not flows.of(unnamed)

    def test_a_full_table_refuses_new_sessions_and_forgets_none(self) -> None:
        """Forgetting one would allow it what its labels forbid."""
        flows = SessionFlows(max_sessions=1)
        one = flows.of(Identity(session="s"))
        with pytest.raises(ConfigurationError, match="seen 1 named sessions"):
            flows.of(Identity(session="t"))
        assert flows.of(Identity(session="s")) is one
        flows.of(Identity())


class TestLabels:
    """Which answers give which labels."""

    @pytest.mark.parametrize("pair", [("data.secret", "data.page"), ("data.slow_page",) * 2])
    async def test_a_rule_applies_once_all_labels_were_answered(
        self, pair: tuple[str, ...]
    ) -> None:
        """Whichever driver answered them."""
        setup = FlowSetup()
        await setup.call("data.slow_secret")
        assert await sends(setup)
        (answer,) = await setup.batch([setup.request(pair[1])])
        assert value_of(answer)
        assert not await sends(setup)

    async def test_a_failed_call_gives_its_labels(self) -> None:
        """The text of an error may hold what was read."""
        setup = FlowSetup(AFTER_PRIVATE)
        answer = await setup.call("data.broken")
        assert reason_of(answer) == "provider_error"
        assert not await sends(setup)

    async def test_a_call_that_times_out_gives_its_labels(self) -> None:
        """That it took so long is an answer."""
        setup = FlowSetup(AFTER_PRIVATE)

        @setup.registry.capability("data.endless", labels=("private",), timeout_ms=1)
        async def endless() -> None:
            await anyio.sleep_forever()

        setup.calls = setup.execution("e2")
        assert reason_of(await setup.call("data.endless")) == "capability_timeout"
        assert not await sends(setup)

    async def test_a_denied_call_gives_nothing(self) -> None:
        """Its provider was not called, so nothing was read."""
        setup = FlowSetup(AFTER_PRIVATE, deny=["data.secret"])
        assert reason_of(await setup.call("data.secret")) == "denied_by_rule"
        assert await sends(setup)

    async def test_a_call_that_was_revoked_before_it_began_gives_nothing(self) -> None:
        """Allowed, and then not made."""
        setup = FlowSetup(AFTER_PRIVATE)
        batch = setup.calls.begin_batch([setup.request("data.secret")])
        setup.calls.revoke(frozenset({"data.secret"}))
        await drive_batch(batch)
        assert setup.outcomes()[0].status is CallStatus.DENIED
        assert await sends(setup)

    async def test_a_provider_adds_labels(self) -> None:
        """What was stored with labels gives them when it is read."""
        setup = FlowSetup(AFTER_PRIVATE)
        await setup.call("data.stored", labels=["mine"])
        assert await sends(setup)
        await setup.call("data.stored", labels=["private", "out.*"])
        assert not await sends(setup)
        assert setup.calls.flow.labels == ("mine", "private")

    async def test_a_word_that_is_no_label_fails_the_call(self) -> None:
        """What cannot be labelled is not answered."""
        setup = FlowSetup()
        answer = await setup.call("data.stored", labels=["private", "No Label"])
        assert reason_of(answer) == "provider_error"
        assert setup.calls.flow.labels == ()

    async def test_a_replayed_answer_gives_the_labels_of_the_first(self) -> None:
        """Also those that the provider added, and also where the first call is not known."""
        setup = FlowSetup(AFTER_PRIVATE)
        first = await setup.call("data.stored", "k", labels=["private"])
        setup.calls.flow.answered = frozenset()
        assert await setup.call("data.stored", "k", labels=["private"]) == first
        assert setup.outcomes()[-1].status is CallStatus.REPLAYED
        assert setup.outcomes()[-1].labels == ["private"]
        assert not await sends(setup)

    async def test_a_policy_labels_functions_and_domains(self) -> None:
        """In addition to their specifications."""
        setup = FlowSetup(AFTER_PRIVATE, labels={"data.plain": ["private"], "data.*": ["mine"]})
        await setup.call("data.page")
        assert setup.calls.flow.labels == ("mine", "untrusted")
        await setup.call("data.plain")
        assert not await sends(setup)

    async def test_a_function_or_its_domain_can_be_what_a_rule_is_about(self) -> None:
        """Any answer of it counts, labelled or not."""
        for after in ("data.plain", "data.*"):
            setup = FlowSetup({"id": "f", "after": [after], "deny": ["out.*"]})
            assert await sends(setup)
            await setup.call("data.plain")
            assert not await sends(setup)


class TestSnapshots:
    """A call is decided by what was answered when it was received."""

    async def test_calls_of_one_read_are_decided_before_any_is_answered(self) -> None:
        """None of them can hold the answer to another; the next read can."""
        setup = FlowSetup(AFTER_PRIVATE)
        names = ["data.secret", "out.send", "data.slow_secret", "out.slow_send"]
        more = [{"data": "x"} if name.startswith("out.") else {} for name in names]
        requests = [setup.request(name, **p) for name, p in zip(names, more, strict=True)]
        answers = await setup.batch(requests)
        assert all(answer.failure is None for answer in answers)
        assert not await sends(setup)

    async def test_labels_that_arrive_while_a_batch_runs_do_not_count_for_it(self) -> None:
        """They were not sent with it; a batch that begins later is decided by them."""
        setup = FlowSetup(AFTER_PRIVATE)
        batch = setup.calls.begin_batch([setup.request("out.send", data="x")])
        await setup.call("data.secret")
        later = setup.calls.begin_batch([setup.request("out.send", data="y")])
        for each in (later, batch):
            await drive_batch(each)
        assert setup.sent == ["x"]

    async def test_an_approval_does_not_change_what_a_call_is_decided_by(self) -> None:
        """What was read while it waited was not sent with it."""
        setup = FlowSetup(ASK_FIRST, AFTER_PRIVATE, approve=["out.slow_send"])

        async def approve(_: ApprovalRequest) -> ApprovalAnswer:
            await setup.call("data.secret")
            return ApprovalAnswer(allowed=True, by="ada")

        setup.services.approvals._approver = approve
        assert value_of(await setup.call("out.slow_send", data="x")) == "sent"
        assert reason_of(await setup.call("out.slow_send", data="x")) == "flow_denied"

    async def test_a_repeat_is_decided_again_by_what_it_was_sent_with(self) -> None:
        """Whether it waited for the first call with its key or not."""
        setup = FlowSetup(AFTER_PRIVATE)
        request = setup.request("out.send", "k", data="x")
        repeat = Call(setup.calls, request, frozenset({"private"}))
        repeat.decide_repeat(None)
        assert repeat.decision.reason is ReasonCode.FLOW_DENIED

    async def test_a_provider_sees_what_was_answered_when_the_call_was_sent(self) -> None:
        """To store it with what it writes."""
        setup = FlowSetup(AFTER_PRIVATE)
        requests = [setup.request("data.secret"), setup.request("data.plain")]
        await setup.batch(requests)
        assert [context.labels for context in setup.contexts] == [(), ()]
        await setup.call("data.plain")
        assert setup.contexts[-1].labels == ("private",)
        assert setup.contexts[-1].answered >= {"private", "data.secret", "data.*"}


class TestApprovals:
    """Rules of `flows` that ask."""

    async def test_a_rule_that_asks_takes_a_call_to_a_person(self) -> None:
        """Only after the labels, and under the name of the rule."""
        asked: list[ApprovalRequest] = []

        async def approve(request: ApprovalRequest) -> ApprovalAnswer:
            asked.append(request)
            return ApprovalAnswer(allowed=True, by="ada")

        setup = FlowSetup(ASK_FIRST, approver=approve)
        await setup.call("out.send", data="x")
        assert asked == []
        await setup.call("data.secret")
        (answer,) = await setup.batch([setup.request("out.send", data="y")])
        assert value_of(answer) == "sent"
        assert [request.rule for request in asked] == ["flows.ask-first"]
        (event,) = [e for e in setup.audit.events if isinstance(e, ApprovalRequested)]
        assert event.rule == "flows.ask-first"

    async def test_nobody_to_ask_is_a_denial(self) -> None:
        """As with `approve`."""
        setup = FlowSetup(ASK_FIRST)
        await setup.call("data.secret")
        assert reason_of(await setup.call("out.send", data="x")) == "approval_required"
        assert setup.sent == []

    async def test_a_standing_approval_does_not_cover_what_another_rule_asks(self) -> None:
        """It was given before the private data was read."""
        asked: list[str] = []

        async def approve(request: ApprovalRequest) -> ApprovalAnswer:
            asked.append(request.rule)
            return ApprovalAnswer(allowed=True, by="ada", calls=9)

        wider = {"id": "both", "after": ["private", "untrusted"], "approve": ["out.send"]}
        setup = FlowSetup(ASK_FIRST, wider, approver=approve, approve=["out.send"])
        for read in (None, None, "data.secret", None, "data.page", None):
            if read is not None:
                await setup.call(read)
            await setup.call("out.send", data="x")
        assert asked == ["out.send", "flows.ask-first", "flows.ask-first"]
        assert len(setup.sent) == 6

    async def test_a_call_that_may_be_asked_about_is_never_inline(self) -> None:
        """The inline driver cannot wait for a person."""
        setup = FlowSetup(ASK_FIRST)
        batch = setup.calls.begin_batch([setup.request("out.send", data="x")])
        assert batch.step_sync()  # it has nothing to do
        assert batch.answers == [None]
        batch.close()


class TestSeveralPolicies:
    """Each policy of a grant has flow rules and labels of its own."""

    async def test_a_rule_above_counts_and_its_labels_are_added(self) -> None:
        """A policy that is added can only take away."""
        setup = FlowSetup(AFTER_PRIVATE)
        above = {
            "id": "above",
            "allow": ["data.*", "out.*"],
            "labels": {"data.plain": ["private"]},
            "flows": [{"id": "f", "after": ["data.page"], "deny": ["out.*"]}],
        }
        calls = setup.execution("e2", above=[above])
        setup.calls = calls
        assert await sends(setup)
        await setup.call("data.plain")
        assert not await sends(setup)
        assert setup.decisions()[-1].policy_id == "test"
        calls = setup.calls = setup.execution("e3", above=[above])
        await setup.call("data.page")
        assert not await sends(setup)
        assert setup.decisions()[-1].policy_id == "above"

    async def test_a_rule_above_that_asks_is_never_inline(self) -> None:
        """Whatever the policy beneath it says."""
        setup = FlowSetup(AFTER_PRIVATE)
        above = {"id": "above", "allow": ["data.*", "out.*"], "flows": [ASK_FIRST]}
        batch = setup.execution("e2", above=[above]).begin_batch(
            [setup.request("out.send", data="x")]
        )
        assert batch.step_sync()  # it has nothing to do
        assert batch.answers == [None]
        batch.close()

    async def test_an_approval_stands_for_the_same_rules_of_the_same_policies(self) -> None:
        """A rule of the same name in another policy is another rule."""
        asked: list[str] = []

        async def approve(request: ApprovalRequest) -> ApprovalAnswer:
            asked.append(f"{request.policy_id} {request.rule}")
            return ApprovalAnswer(allowed=True, by="ada", calls=9)

        after_page = {"id": "ask-first", "after": ["untrusted"], "approve": ["out.send"]}
        setup = FlowSetup(ASK_FIRST, approver=approve)
        above = {"id": "above", "allow": ["data.*", "out.*"], "flows": [after_page]}
        setup.calls = setup.execution("e2", above=[above])
        await setup.call("data.secret")
        await setup.batch([setup.request("out.send", data="x")])
        setup.calls.flow.answered = frozenset()
        await setup.call("data.page")
        await setup.batch([setup.request("out.send", data="x")])
        await setup.batch([setup.request("out.send", data="x")])
        assert asked == ["test flows.ask-first", "above flows.ask-first"]
        await setup.call("data.secret")
        await setup.batch([setup.request("out.send", data="x")])
        assert asked[2:] == ["above flows.ask-first"]  # now both ask, and nobody was asked for both
        assert len(setup.sent) == 4


class TestChannels:
    """Who shares what was answered."""

    async def test_executions_share_nothing_unless_they_name_a_session(self) -> None:
        """A session of the same name of another principal is another session."""
        setup = FlowSetup(AFTER_PRIVATE)
        await setup.call("data.secret", on=setup.execution("e2", session="s"))

        async def can_send(**who: str | None) -> bool:
            calls = setup.execution("e3", **who)  # type: ignore[arg-type]
            answer: CallResponse = await setup.call("out.send", on=calls, data="x")
            return answer.failure is None

        assert await can_send(session=None)
        assert await can_send(session="t")
        assert await can_send(session="s", principal="bob")
        assert not await can_send(session="s")

    async def test_an_execution_starts_with_given_marks_and_gives_back_its_own(self) -> None:
        """For an execution within an execution: labels pass in and out."""
        setup = FlowSetup(AFTER_PRIVATE)
        flow = FlowState(frozenset({"private"}))
        inner = setup.execution("inner", flow=flow)
        assert reason_of(await setup.call("out.send", on=inner, data="x")) == "flow_denied"
        await setup.call("data.page", on=inner)
        assert flow.labels == ("private", "untrusted")
        context = CallContext(
            execution_id="e",
            request_id="r",
            capability="code.run",
            principal="ada",
            agent=None,
            session=None,
            scope=None,
            timeout_ms=1,
        )
        context.add_labels(*flow.answered)
        assert context.added == flow.answered


class TestEvidence:
    """What the audit log says of it."""

    async def test_decisions_have_the_labels_before_and_outcomes_those_of_the_answer(self) -> None:
        """By both drivers; left out while there are none."""
        setup = FlowSetup()
        await setup.batch([setup.request("data.plain"), setup.request("data.secret")])
        await setup.call("data.slow_page")
        await setup.call("out.send", data="x")
        assert [one.labels for one in setup.decisions()] == [
            [],
            [],
            ["private"],
            ["private", "untrusted"],
        ]
        assert [one.labels for one in setup.outcomes()] == [[], ["private"], ["untrusted"]]
        denied = setup.decisions()[-1]
        assert (denied.reason, denied.rule) == ("flow_denied", "flows.no-exfiltration")

    async def test_the_message_names_the_rule_and_the_labels(self) -> None:
        """For the operator."""
        setup = FlowSetup(NO_EXFILTRATION)
        await setup.call("data.secret")
        await setup.call("data.page")
        await setup.call("out.send", data="x")
        assert setup.decisions()[-1].message == (
            "`out.send` is denied after `private` and `untrusted` by rule "
            "`flows.no-exfiltration` of policy `test`"
        )
