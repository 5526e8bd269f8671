"""(6) The broker: the reference monitor between user space and every provider.

One `ExecutionBroker` serves one channel. It trusts nothing in a request: the execution, the
principal and the grant are its own, fixed when the channel was opened. Each request goes

    decide (-> wait for an approval -> decide anew) -> audit the decision -> call the provider
    -> audit the outcome -> answer

and these hold on every path:

- no provider is called unless the decision allows it *and* its record is durable;
- a provider's result is not handed out unless it fits its schema and the outcome is durable;
- an idempotency key has one effect, and every repeat gets its recorded answer;
- a call ends at its deadline, with its execution, or when its grant is revoked, whichever comes
  first; once a grant is revoked no call of it begins, also if its decision was recorded before.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import anyio
from msgspec.structs import replace

from caps.capabilities.broker.approvals import ApprovalDesk, AskedCall, Settled
from caps.capabilities.broker.batch import CallsAtOnce
from caps.capabilities.broker.invoke import Outcome, call_provider, failure_answer
from caps.capabilities.broker.evidence import CallEvidence, DecisionSummary
from caps.capabilities.grant import Grant, Terms
from caps.capabilities.identity import Identity
from caps.capabilities.broker.idempotency import CUT_SHORT, NOT_KEPT, KeyedAnswer, KeyedAnswers
from caps.capabilities.provider import CallContext
from caps.capabilities.broker.rate_windows import RateWindows
from caps.capabilities.broker.revocation import LiveGrants
from caps.capabilities.stoppable import StoppableCall
from caps.capabilities.telemetry import Metrics, Tracing
from caps.capabilities.telemetry.calls import ObservedCalls
from caps.capabilities.telemetry.tracing import ExecutionSpan
from caps.capabilities.broker.usage import UsageMeter
from caps.protocol.errors import AuditError
from caps.protocol.messages import CapabilityRequestMessage
from caps.security.audit.model.records import CallStatus
from caps.security.audit.log.interface import AuditSink, Recorder
from caps.security.decision import (
    NOTHING_USED,
    ApprovalUse,
    Decision,
    KeyUse,
    ReasonCode,
    Request,
    Usage,
    decide,
    error_for,
)
from caps.worker.host.supervisor.interface import TakenUp
from caps.worker.host.process.worker import Used
from caps.worker.host.supervisor.supervisor import Answer
from caps.worker.host.supervisor.wall_clock import WallClock

# What user space is told; why, and where on the host, is for the operator's log.
_UNRECORDED = AuditError(
    # Said of both records: without the first the call was not made, without the second it was.
    "the evidence of this call could not be written, so there is no result"
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    """What all executions share."""

    audit: AuditSink
    metrics: Metrics
    tracing: Tracing
    default_timeout_ms: int
    approvals: ApprovalDesk
    rates: RateWindows = field(default_factory=RateWindows)
    live: LiveGrants = field(default_factory=LiveGrants)
    recorder: Recorder = field(init=False)
    """`audit`, as all of them write to it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "recorder", Recorder.of(self.audit))


class ExecutionBroker:
    """Answers the requests of one execution."""

    def __init__(
        self,
        broker: Broker,
        grant: Grant,
        identity: Identity,
        span: ExecutionSpan,
        *,
        degraded: str | None = None,
        channel_id: str | None = None,
        keys: KeyedAnswers | None = None,
        clock: WallClock | None = None,
        on_decision: Callable[[DecisionSummary], None] | None = None,
    ) -> None:
        """`channel_id` and `keys` are shared by the executions of a session, `clock` with the
        supervisor; `on_decision` hears of each decision as it is made."""
        self.grant = grant
        self.used: Used | None = None
        self.unrecorded: AuditError | None = None
        """Why the evidence of a call is missing, if that happened; the first time."""
        self.channel_id = grant.execution_id if channel_id is None else channel_id
        self._broker = broker
        # Said in the context of every provider call, and with `degraded` in every record.
        self._who = identity.who(grant.execution_id)
        self.who = {**self._who, "degraded": degraded, **span.ids}
        recorder = broker.recorder
        self._redactor = recorder.redactor
        self.observed = ObservedCalls(broker.metrics, span, grant.terms, recorder.redactor)
        self.evidence = CallEvidence(recorder, self.observed, self.who, on_decision)
        self._clock = WallClock() if clock is None else clock
        # The calls under way, each of which is stopped when its capability is revoked.
        self._stoppable: set[StoppableCall] = set()
        self._by_key = KeyedAnswers() if keys is None else keys
        self.meter = UsageMeter(
            grant,
            identity.principal,
            broker.rates,
            self._by_key,
            self._clock,
            recorder.redactor,
        )

    def begin(self) -> None:
        """Start the clock of the execution: its code is being handed over."""
        self.meter.begin()

    async def handle(self, request: CapabilityRequestMessage) -> Answer:
        """Decide, record, act, record; what the worker is told. A failure is an answer, too."""
        call, answer = self.observed.begin(request), None
        decision, usage = self.judge(request)
        self.observed.waits(1)
        try:
            answer = await self._settle(request, decision, usage)
        except AuditError as error:
            call.ended("audit_error")
            answer = self.miss_evidence(error)
        finally:
            self.meter.conclude(1)
            call.finish(answer)
            self.observed.waited(1)
        return answer

    def take_up(self, requests: Sequence[CapabilityRequestMessage]) -> TakenUp:
        """The same for those that cannot wait, together; the others are for `handle`.

        A span is current in the task of its call, so where there are any each call has its own.
        """
        if self.observed.span.traced:
            return TakenUp(len(requests))
        return CallsAtOnce(self, requests)

    def judge(self, request: CapabilityRequestMessage) -> tuple[Decision, Usage]:
        """Decide; the call is under way from now on, until the meter is told otherwise."""
        usage = self.meter.before(request)
        decision = decide(self.grant, Request(request.capability, request.payload), usage)
        self.meter.add()
        return decision, usage

    def miss_evidence(self, error: AuditError) -> Answer:
        """What is answered for want of evidence, which fails the execution, too."""
        logger.error("a call was refused for want of evidence: %s", error)
        self.unrecorded = self.unrecorded or error
        return failure_answer(_UNRECORDED)

    def end(self, used: Used | None) -> None:
        """The worker is gone; what the code used of it."""
        self.used = used

    @property
    def calls(self) -> int:
        """How many were made so far, refused ones among them."""
        return self.meter.calls

    @property
    def decisions(self) -> list[DecisionSummary]:
        """What was decided so far."""
        return self.evidence.decisions

    def revoke(self, capabilities: frozenset[str]) -> None:
        """Refuse `capabilities` from now on, and stop the calls of them that are under way."""
        self.grant = self.grant.revoking(*capabilities)
        for call in self._stoppable:
            if call.capability in capabilities:
                call.stop()

    async def _settle(
        self, request: CapabilityRequestMessage, decision: Decision, usage: Usage
    ) -> Answer:
        terms = self.grant.terms.get(request.capability)
        if terms is None or not (decision.allowed or _asks(decision)):
            return await self._refuse(request, decision, terms)
        key = (request.capability, request.idempotency_key or "")
        recorded = self._by_key.get(key)
        if recorded is not None:
            return await self._repeat(request, decision, terms, recorded)
        if request.idempotency_key is None:
            return await self._proceed(request, decision, terms, usage)
        return await self._once(key, request, decision, terms, usage)

    async def _proceed(
        self,
        request: CapabilityRequestMessage,
        decision: Decision,
        terms: Terms,
        usage: Usage,
        recorded: KeyedAnswer | None = None,
    ) -> Answer:
        approval_id = None
        if _asks(decision):
            decision, approval_id = await self._ask(request, terms, usage)
        if not decision.allowed:
            if recorded is not None:
                recorded.refusal = decision
            return await self._refuse(request, decision, terms)
        if recorded is not None:
            recorded.begin(approval_id)
        self.meter.take_rate(terms)
        return await self._act(request, decision, terms, approval_id)

    async def _ask(
        self, request: CapabilityRequestMessage, terms: Terms, usage: Usage
    ) -> tuple[Decision, str | None]:
        """Find or wait for an approval, then decide anew: much may have happened meanwhile."""
        redacted = self._redactor.split(request.payload, terms.spec.shown)
        call = AskedCall(
            who=self.who,
            channel_id=self.channel_id,
            request_id=request.request_id,
            grant=self.grant,
            terms=terms,
            redacted=redacted,
        )
        desk = self._broker.approvals
        covering = desk.take(call)
        if covering is not None:
            settled = Settled(ApprovalUse.GIVEN, covering)
        else:
            settled = Settled(ApprovalUse.NONE)
            left_ms = self.grant.limits.approval_ms - int(self._clock.stood_still_s * 1000)
            stoppable = StoppableCall(terms.name)
            self._stoppable.add(stoppable)
            try:
                with self._clock.standing_still(), stoppable.scope:
                    settled = await desk.ask(call, left_ms)
            finally:
                self._stoppable.remove(stoppable)
        in_window, past_deadline = self.meter.by_time(request)
        usage = replace(
            usage,
            in_rate_window=in_window,
            past_deadline=past_deadline,
            approval=settled.use,
        )
        decision = decide(self.grant, Request(request.capability, request.payload), usage)
        return decision, settled.approval_id

    async def _once(
        self,
        key: tuple[str, str],
        request: CapabilityRequestMessage,
        decision: Decision,
        terms: Terms,
        usage: Usage,
    ) -> Answer:
        # The key is taken before the first await, so that a repeat at the same time finds it.
        args_hmac = self._redactor.digest(request.payload)
        recorded = self._by_key[key] = KeyedAnswer(args_hmac)
        try:
            answer = await self._proceed(request, decision, terms, usage, recorded)
            kept = not recorded.begun or self._by_key.has_room_for(answer)
            recorded.answer = answer if kept else failure_answer(NOT_KEPT)
        except AuditError:
            # Whether the effect happened is known only if the decision was recorded; either way
            # a repeat must not act, so the failure is what the key stands for.
            recorded.answer = failure_answer(_UNRECORDED)
            raise
        finally:
            if not recorded.begun:
                del self._by_key[key]  # it was not approved: nothing was done under the key
            # In a session the key outlives a call that was cancelled; it must not act again.
            if recorded.answer is None:
                recorded.answer = failure_answer(CUT_SHORT)
            recorded.end()
        return answer

    async def _repeat(
        self,
        request: CapabilityRequestMessage,
        decision: Decision,
        terms: Terms,
        recorded: KeyedAnswer,
    ) -> Answer:
        if not recorded.begun:
            # The first waits for its approval, and is decided for its repeats, too.
            await recorded.decided.wait()
            asked = Request(request.capability, request.payload)
            anew = decide(self.grant, asked, replace(NOTHING_USED, key=KeyUse.REPEAT))
            decision = recorded.refusal or anew
            if not decision.allowed:
                return await self._refuse(request, decision, terms)
            if not recorded.begun:
                raise AuditError("the first call with this idempotency key has no evidence")
        await self.evidence.record_decision(request, decision, terms, recorded.approval_id)
        await recorded.ready.wait()
        await self.evidence.record_outcome(request, CallStatus.REPLAYED, None, None, 0, 0)
        self.observed.of(request).ended(CallStatus.REPLAYED.value)
        assert recorded.answer is not None  # `ready` is set after it
        return recorded.answer

    async def _act(
        self,
        request: CapabilityRequestMessage,
        decision: Decision,
        terms: Terms,
        approval_id: str | None,
    ) -> Answer:
        await self.evidence.record_decision(request, decision, terms, approval_id)
        if terms.name in self.grant.revoked:  # while the record was written
            gone = self.revoked(request, CallStatus.DENIED)
            return (await self._end_as(request, gone, 0)).answer
        if self.meter.is_over():  # by then
            return (await self._end_as(request, self.late(request), 0)).answer
        context = self.context_of(request, terms)
        return (await self._call(request, terms, context)).answer

    async def _call(
        self, request: CapabilityRequestMessage, terms: Terms, context: CallContext
    ) -> Outcome:
        began = time.perf_counter_ns()
        stoppable = StoppableCall(terms.name)
        self._stoppable.add(stoppable)
        try:
            outcome = await call_provider(
                terms,
                context,
                request.payload,
                policy_id=self.grant.policy_id,
                stoppable=stoppable,
            )
        except BaseException:  # a cancellation or an interrupt; what a provider fails by is told
            # The execution is over. The effect may have begun, so its end is evidence, too.
            with anyio.CancelScope(shield=True):
                await self.evidence.record_outcome(
                    request, CallStatus.CANCELLED, None, None, _micros_since(began), 0
                )
            self.observed.of(request).ended(CallStatus.CANCELLED.value)
            raise
        finally:
            self._stoppable.remove(stoppable)
        if outcome.status is CallStatus.CANCELLED:  # only `revoke` stops one
            gone = self.revoked(request, CallStatus.CANCELLED)
            return await self._end_as(request, gone, _micros_since(began))
        await self.evidence.record_outcome(
            request,
            outcome.status,
            outcome.reason,
            outcome.detail,
            _micros_since(began),
            outcome.bytes_out,
        )
        if outcome.status is CallStatus.DENIED:
            self.evidence.count_denied(request, outcome.denied_for)
        self.observed.of(request).ended(outcome.status.value, outcome.reason, outcome.bytes_out)
        return outcome

    async def _end_as(
        self, request: CapabilityRequestMessage, outcome: Outcome, duration_us: int
    ) -> Outcome:
        """A call was allowed, and something came in between: `outcome` says what."""
        reason = outcome.denied_for
        await self.evidence.record_outcome(request, outcome.status, reason, None, duration_us, 0)
        self.evidence.count_denied(request, reason)
        self.observed.of(request).ended(outcome.status.value, reason)
        return outcome

    def revoked(self, request: CapabilityRequestMessage, status: CallStatus) -> Outcome:
        """The outcome of a call that was revoked after it was allowed."""
        asked = Request(request.capability, request.payload)
        error = error_for(decide(self.grant, asked, NOTHING_USED), request.capability)
        if status is CallStatus.CANCELLED:
            error.message += " while the call was made; whether it had its effect is not known"
        reason = ReasonCode.REVOKED.value
        return Outcome(status=status, answer=failure_answer(error), reason=reason)

    def late(self, request: CapabilityRequestMessage) -> Outcome:
        """The outcome of a call that is not begun, as the time of its execution is over."""
        asked = Request(request.capability, request.payload)
        decision = decide(self.grant, asked, replace(NOTHING_USED, past_deadline=True))
        error = error_for(decision, request.capability)
        reason = decision.reason.value
        return Outcome(status=CallStatus.DENIED, answer=failure_answer(error), reason=reason)

    async def _refuse(
        self, request: CapabilityRequestMessage, decision: Decision, terms: Terms | None
    ) -> Answer:
        await self.evidence.record_decision(request, decision, terms)
        self.evidence.count_denied(request, decision.reason.value)
        self.observed.of(request).ended(CallStatus.DENIED.value)
        return failure_answer(error_for(decision, request.capability))

    def context_of(self, request: CapabilityRequestMessage, terms: Terms) -> CallContext:
        """What the provider is told of the call, all of it from the grant."""
        return CallContext(
            **self._who,
            request_id=request.request_id,
            capability=terms.name,
            scope=terms.scope,
            timeout_ms=self._timeout_ms(request, terms),
        )

    def _timeout_ms(self, request: CapabilityRequestMessage, terms: Terms) -> int:
        least = self._broker.default_timeout_ms
        for asked in (request.timeout_ms, terms.spec.timeout_ms):
            if asked is not None and asked < least:
                least = asked
        return least


def _asks(decision: Decision) -> bool:
    return decision.reason is ReasonCode.APPROVAL_REQUIRED


def _micros_since(began_ns: int) -> int:
    return (time.perf_counter_ns() - began_ns) // 1000
