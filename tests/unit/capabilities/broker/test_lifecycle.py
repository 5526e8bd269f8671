"""The lifecycle of a call: which step may follow which, and what each of them leaves."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from caps.capabilities.broker.idempotency import IdempotentCall
from caps.capabilities.broker.lifecycle import Call
from caps.capabilities.broker.outcomes import Outcome
from caps.security.audit import CallStatus
from caps.security.reasons import ReasonCode
from caps.security.request import ApprovalUse
from caps.worker.host.supervisor.interface import CallResponse
from support.broker_setup import BrokerSetup, make_request

ANSWER = CallResponse(result="a")
OK = Outcome(status=CallStatus.OK, answer=ANSWER)


def decided(word: object = "a") -> Call:
    """A call that was allowed, unless its argument is not a string."""
    return Call(BrokerSetup().calls, make_request(word))


def recording() -> Call:
    call = decided()
    call.decision_record()
    return call


def denied() -> Call:
    call = decided(5)
    assert not call.decision.allowed
    call.decision_record()
    return call


def calling() -> Call:
    call = recording()
    assert call.begin()
    return call


def ended() -> Call:
    call = calling()
    call.end(OK)
    return call


def reporting() -> Call:
    call = ended()
    call.outcome_record()
    return call


def interrupted() -> Call:
    call = calling()
    call.interrupt()
    return call


def closed() -> Call:
    call = reporting()
    call.close()
    return call


STEPS: dict[str, Callable[[Call], object]] = {
    "decide_again": lambda call: call.decide_again(ApprovalUse.GIVEN, "a1"),
    "decide_repeat": lambda call: call.decide_repeat(None),
    "decision_record": lambda call: call.decision_record(),
    "begin": lambda call: call.begin(),
    "context": lambda call: call.context(),
    "item": lambda call: call.item(),
    "end": lambda call: call.end(OK),
    "replay": lambda call: call.replay(ANSWER, frozenset()),
    "interrupt": lambda call: call.interrupt(),
    "outcome_record": lambda call: call.outcome_record(),
    "close": lambda call: call.close(),
}

# The states of the table in `lifecycle.py`, and the steps that it has for each; `replay` is for
# repeats, which none of these is.
TABLE: dict[Callable[[], Call], set[str]] = {
    decided: {"decide_again", "decide_repeat", "decision_record"},
    recording: {"begin", "interrupt"},
    denied: {"close", "interrupt"},
    calling: {"context", "item", "end", "interrupt"},
    ended: {"interrupt", "outcome_record"},
    reporting: {"interrupt", "close"},
    interrupted: set(),
    closed: set(),
}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("state", TABLE, ids=lambda state: state.__name__)
def test_only_the_steps_of_the_table_can_be_taken(state: Callable[[], Call], step: str) -> None:
    """Anything else is an error, and leaves the call where it was."""
    call = state()
    if step in TABLE[state]:
        STEPS[step](call)
        return
    before = call._state
    with pytest.raises(RuntimeError, match=f"`{step}` is not possible"):
        STEPS[step](call)
    assert call._state is before


def test_a_repeat_is_replayed_and_never_begins() -> None:
    """One key, one effect."""
    setup = BrokerSetup()
    request = make_request("a", idempotency_key="k")
    first = IdempotentCall(
        setup.audit.redactor.digest(request.payload), setup.calls.grant.terms_sha256
    )
    setup.calls._by_key[(request.capability, "k")] = first
    repeat = Call(setup.calls, request)
    repeat.decision_record()
    with pytest.raises(RuntimeError, match="`begin` is not possible"):
        repeat.begin()
    repeat.replay(ANSWER, frozenset())
    assert repeat.outcome_record().status is CallStatus.REPLAYED
    assert repeat.close() is ANSWER


def test_a_call_is_released_once() -> None:
    """It would be counted twice."""
    call = closed()
    call.release()
    with pytest.raises(RuntimeError, match="released once"):
        call.release()


def test_a_denied_call_closes_with_its_reason_and_without_an_outcome() -> None:
    """The record of its decision is all there is."""
    call = denied()
    response = call.close()
    assert response.failure is not None
    assert (response.failure.code, call.outcome) == ("validation_error", None)


def test_a_grant_that_is_revoked_before_the_call_begins_denies_it() -> None:
    """The decision was recorded as allowed; the outcome says what came in between."""
    setup = BrokerSetup()
    call = Call(setup.calls, make_request("a"))
    call.decision_record()
    setup.calls.revoke(frozenset({"box.echo"}))
    assert not call.begin()
    record = call.outcome_record()
    assert (record.status, record.reason) == (CallStatus.DENIED, ReasonCode.REVOKED.value)
    assert record.duration_us == 0


def test_a_call_does_not_begin_after_the_end_of_its_execution() -> None:
    """The time may pass while the decision is written."""
    setup = BrokerSetup()
    call = Call(setup.calls, make_request("a"))
    call.decision_record()
    setup.calls.meter._deadline = -1.0
    assert not call.begin()
    assert call.outcome_record().reason == ReasonCode.DEADLINE_PASSED.value


def test_a_call_that_was_stopped_by_a_revocation_says_so() -> None:
    """It is unknown whether it had its effect."""
    setup = BrokerSetup()
    call = Call(setup.calls, make_request("a"))
    call.decision_record()
    assert call.begin()
    setup.calls.revoke(frozenset({"box.echo"}))
    call.end(Outcome(status=CallStatus.CANCELLED, answer=CallResponse()))
    call.outcome_record()
    response = call.close()
    assert response.failure is not None
    assert "whether it had its effect is not known" in response.failure.message


@pytest.mark.parametrize("state", [recording, calling, ended, reporting])
def test_an_interrupt_leaves_a_record_in_every_state(state: Callable[[], Call]) -> None:
    """The effect may have begun."""
    assert state().interrupt().status is CallStatus.CANCELLED


def test_an_approval_is_part_of_the_record_only_if_it_allowed_the_call() -> None:
    """A refusal names none."""
    setup = BrokerSetup(approve=["box.echo"])
    allowed, refused = Call(setup.calls, make_request("a")), Call(setup.calls, make_request("a"))
    allowed.decide_again(ApprovalUse.GIVEN, "a1")
    refused.decide_again(ApprovalUse.DENIED, "a2")
    assert (allowed.decision_record().approval, refused.decision_record().approval) == ("a1", None)
