"""(6) The lifecycle of one call: decide, record, act, record, answer. It is defined here only.

A `Call` does no IO. A driver moves it from state to state, makes its two records durable and calls
the provider. There are two drivers: `broker.py` for calls that may wait, `batch.py` for calls that
never wait. A step that the table does not have is an error.

    state      step                                                   next state
    DECIDED    decide_again     an approval was given or refused      DECIDED
               decide_repeat    the first call with its key settled   DECIDED
               decision_record  the driver makes it durable           RECORDING
    RECORDING  begin            the decision is durable and allows    CALLING; ENDED if the grant
                                the call                              was revoked or the time is up
               replay           the same, for a repeat                ENDED
               close            the decision is durable and denies    CLOSED
    CALLING    item             an item of a stream may be sent       CALLING
               end              the provider is done                  ENDED
    ENDED      outcome_record   the driver makes it durable           REPORTING
    REPORTING  close            the outcome is durable                CLOSED

`interrupt` leads from all but DECIDED to INTERRUPTED, `fail` from any state to CLOSED. So for both
drivers:

- a decision has one record, and cannot change afterwards;
- a provider is called in CALLING only: after the record of a decision that allows the call, never
  for a repeat, never for a grant that was revoked since or after the end of the execution's time;
- a response exists in CLOSED only: after the record of the outcome, or of the denial;
- the flow rules see what the channel was answered when the request was received, also if it is
  decided again; what a provider was called for, or a repeat got, is marked before its response,
  and before each item of a stream.
"""

from __future__ import annotations

import enum
import time
from typing import TYPE_CHECKING

from msgspec.structs import replace

from caps.capabilities.broker.outcomes import Outcome, error_response
from caps.capabilities.provider import CallContext
from caps.protocol.messages import CapabilityRequestMessage
from caps.security.audit.model.records import CallStatus, DecisionMade, OutcomeRecorded
from caps.security.decision import Decision, decide
from caps.security.policies.flow_rules import NO_MARKS
from caps.security.reasons import ReasonCode
from caps.security.refusals import error_for
from caps.security.request import NOTHING_USED, ApprovalUse, KeyUse, Request, Usage
from caps.worker.host.supervisor.interface import CallResponse

if TYPE_CHECKING:
    from caps.capabilities.broker.broker import ExecutionBroker
    from caps.capabilities.broker.streams import ItemStream


class CallState(enum.Enum):
    """Where a call is in its lifecycle."""

    DECIDED = "decided"
    RECORDING = "recording"
    CALLING = "calling"
    ENDED = "ended"
    REPORTING = "reporting"
    INTERRUPTED = "interrupted"
    CLOSED = "closed"


# Read for every call; an attribute of the class would be looked up each time.
_DECIDED, _RECORDING, _CALLING, _ENDED, _REPORTING, _INTERRUPTED, _CLOSED = CallState


class Call:
    """One request of one execution. Mutable; used by one driver."""

    __slots__ = (
        "_added",
        "_began_ns",
        "_broker",
        "_is_repeat",
        "_released",
        "_state",
        "_usage",
        "answered",
        "approval_id",
        "bound",
        "decision",
        "items",
        "labels",
        "observation",
        "outcome",
        "parent",
        "request",
        "response",
    )

    def __init__(
        self,
        broker: ExecutionBroker,
        request: CapabilityRequestMessage,
        answered: frozenset[str] | None = None,
        parent: CallContext | None = None,
    ) -> None:
        """Decide. The call counts as in flight from now on, until `release`.

        `answered` is what the channel was answered when `request` was received; default: now.
        `parent` is the call whose provider makes this one.
        """
        self._broker = broker
        self.request = request
        self.parent = parent
        self.observation = broker.telemetry.begin(request)
        self.bound = broker.grant.terms.get(request.capability)
        self.answered = broker.flow.answered if answered is None else answered
        self._usage = broker.meter.before(request, self.answered, is_nested=parent is not None)
        self._is_repeat = self._usage.key is KeyUse.REPEAT
        self._added: set[str] = set()
        self.labels: frozenset[str] = NO_MARKS
        self._released = False
        self.approval_id: str | None = None
        self.outcome: Outcome | None = None
        self.items: ItemStream | None = None  # set by the driver, if the provider streams
        self.response: CallResponse | None = None
        self._began_ns: int | None = None
        self._state = _DECIDED
        self.decision = self._decide(self._usage)
        broker.meter.add(is_nested=parent is not None)
        self._count_allowed()

    @property
    def needs_approval(self) -> bool:
        """Whether the decision is neither yes nor no, but to ask a person."""
        return self.decision.reason is ReasonCode.APPROVAL_REQUIRED

    @property
    def lacks_outcome(self) -> bool:
        """Whether its decision may be on disk and allows the call, but no outcome is."""
        return self.decision.allowed and self._state in (_RECORDING, _CALLING, _ENDED)

    # -- the decision ---------------------------------------------------------------------------

    def decide_again(self, approval: ApprovalUse, approval_id: str | None) -> None:
        """Decide with the result of an approval, by the time, the rates and the cost of now."""
        if self._state is not _DECIDED:
            raise self._out_of_turn("decide_again")
        usage = self._broker.meter.again(self.request, self._usage)
        self.decision = self._decide(replace(usage, approval=approval))
        self.approval_id = approval_id if self.decision.allowed else None
        self._count_allowed()

    def decide_repeat(self, refusal: Decision | None) -> None:
        """Decide for a repeat whose first call had to wait: `refusal` is why that did not begin.

        The grant may be revoked by now.
        """
        if self._state is not _DECIDED:
            raise self._out_of_turn("decide_repeat")
        usage = replace(NOTHING_USED, key=KeyUse.REPEAT, answered=self.answered)
        self.decision = refusal or self._decide(usage)

    def decision_record(self) -> DecisionMade:
        """The record of the decision, which must be durable before the next step."""
        if self._state is not _DECIDED:
            raise self._out_of_turn("decision_record")
        record = self._broker.evidence.decision_record(self)
        self._state = _RECORDING
        return record

    # -- the effect -----------------------------------------------------------------------------

    def begin(self) -> bool:
        """The decision is durable and allows the call. Whether to call the provider now."""
        if self._state is not _RECORDING or not self.decision.allowed or self._is_repeat:
            raise self._out_of_turn("begin")
        if self.request.capability in self._broker.grant.revoked:  # since it was decided
            self.outcome = self._denied_since(NOTHING_USED, CallStatus.DENIED)
        elif self._broker.meter.is_over():  # by now
            past_deadline = replace(NOTHING_USED, past_deadline=True)
            self.outcome = self._denied_since(past_deadline, CallStatus.DENIED)
        else:
            self._began_ns = time.perf_counter_ns()
            self._state = _CALLING
            return True
        self._state = _ENDED
        return False

    def context(self) -> CallContext:
        """What the provider gets to know of the call, all of it from the grant."""
        if self._state is not _CALLING:
            raise self._out_of_turn("context")
        bound = self.bound
        assert bound is not None  # it was allowed
        timeout_ms = self._broker.default_timeout_ms
        for wanted in (self.request.timeout_ms, bound.spec.timeout_ms):
            if wanted is not None and wanted < timeout_ms:
                timeout_ms = wanted
        return CallContext(
            **self._broker.caller,
            request_id=self.request.request_id,
            capability=bound.name,
            scope=bound.scope,
            timeout_ms=timeout_ms,
            answered=self.answered,
            added=self._added,
            artifacts=self._broker.artifacts,
            host=self._broker.host,
            depth=0 if self.parent is None else self.parent.depth + 1,
        )

    def item(self) -> None:
        """The provider streams, and one more item is sent now."""
        if self._state is not _CALLING:
            raise self._out_of_turn("item")
        self._mark(frozenset(self._added))

    def end(self, outcome: Outcome) -> None:
        """The provider is done. Only a revocation cancels it without ending the execution."""
        if self._state is not _CALLING:
            raise self._out_of_turn("end")
        if outcome.status is CallStatus.CANCELLED:
            outcome = self._denied_since(NOTHING_USED, CallStatus.CANCELLED)
        self._mark(frozenset(self._added))
        self.outcome = outcome
        self._state = _ENDED

    def replay(self, response: CallResponse, labels: frozenset[str]) -> None:
        """The decision is durable and allows a repeat, which gets the response of the first."""
        if self._state is not _RECORDING or not self.decision.allowed or not self._is_repeat:
            raise self._out_of_turn("replay")
        self._mark(labels)
        self.outcome = Outcome(status=CallStatus.REPLAYED, answer=response)
        self._state = _ENDED

    def interrupt(self) -> OutcomeRecorded:
        """The host or the execution ended. The effect may have begun, so there is a record."""
        if self._state not in (_RECORDING, _CALLING, _ENDED, _REPORTING):
            raise self._out_of_turn("interrupt")
        detail = "it was not begun" if self._began_ns is None else None
        outcome = Outcome(status=CallStatus.CANCELLED, answer=CallResponse(), detail=detail)
        self._state = _INTERRUPTED
        self.observation.ended(CallStatus.CANCELLED.value)
        return self._broker.evidence.outcome_record(self, outcome, self._duration_us())

    # -- the outcome ----------------------------------------------------------------------------

    def outcome_record(self) -> OutcomeRecorded:
        """The record of the outcome, which must be durable before `close`."""
        if self._state is not _ENDED:
            raise self._out_of_turn("outcome_record")
        assert self.outcome is not None  # set with the state
        self._state = _REPORTING
        return self._broker.evidence.outcome_record(self, self.outcome, self._duration_us())

    def close(self) -> CallResponse:
        """Everything is durable: count the call, and give its response."""
        if self._state is not (_REPORTING if self.decision.allowed else _RECORDING):
            raise self._out_of_turn("close")
        outcome, observation = self.outcome, self.observation
        if outcome is None:
            self.response = error_response(error_for(self.decision, self.request.capability))
            self._broker.evidence.count_denied(self, self.decision.reason.value)
            observation.ended(CallStatus.DENIED.value)
        else:
            self.response = outcome.answer
            if outcome.reason is not None:
                self._broker.evidence.count_denied(self, outcome.reason)
            observation.ended(outcome.status._value_, outcome.reason, outcome.bytes_out)
        self._state = _CLOSED
        return self.response

    def fail(self, response: CallResponse) -> None:
        """A record could not be written: `response` says so, whatever else has happened."""
        self.response = response
        self.observation.ended("audit_error")
        self._state = _CLOSED

    def release(self) -> None:
        """The response was sent, or never will be. Called once, whatever happened."""
        if self._released:
            raise RuntimeError("a call is released once")
        self._released = True
        self._broker.meter.remove(is_nested=self.parent is not None)
        self.observation.finish(self.response)

    def _decide(self, usage: Usage) -> Decision:
        asked = Request(self.request.capability, self.request.payload)
        return decide(self._broker.grant, asked, usage)

    def _mark(self, further: frozenset[str]) -> None:
        """Mark the channel with what the response may hold: what was decided, and `further`."""
        self.labels = self.decision.labels | further
        self._broker.flow.add(self.request.capability, self.labels)

    def _count_allowed(self) -> None:
        """An allowed call counts in the windows of its rates, with its cost; a repeat has none."""
        if self.decision.allowed and not self._is_repeat:
            self._broker.meter.take(self.request.capability)

    def _denied_since(self, usage: Usage, status: CallStatus) -> Outcome:
        """The call was allowed, and would be denied now."""
        decision = self._decide(usage)
        error = error_for(decision, self.request.capability)
        if status is CallStatus.CANCELLED:
            error.message += " while the call was made; whether it had its effect is not known"
        return Outcome(status=status, answer=error_response(error), reason=decision.reason.value)

    def _duration_us(self) -> int:
        began = self._began_ns
        return 0 if began is None else (time.perf_counter_ns() - began) // 1000

    def _out_of_turn(self, step: str) -> RuntimeError:
        """The error for a step that the table does not have here."""
        decision = "allowed" if self.decision.allowed else "denied"
        kind = "repeat" if self._is_repeat else "call"
        state = self._state.value
        return RuntimeError(f"`{step}` is not possible: the {kind} is {decision} and {state}")
