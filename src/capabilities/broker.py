"""(6) The broker: the reference monitor between user space and every provider.

One `ExecutionBroker` serves one channel. It trusts nothing in a request: the execution, the
principal and the grant are its own, fixed when the channel was opened. Each request goes

    decide -> audit the decision -> call the provider -> audit the outcome -> answer

and these hold on every path:

- no provider is called unless the decision allows it *and* its record is durable;
- a provider's result is not handed out unless it fits its schema and the outcome is durable;
- an idempotency key has one effect, and every repeat gets its recorded answer;
- a call ends at its deadline, or with its execution, whichever comes first.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import anyio
from opentelemetry import trace

from caps.capabilities.calling import Outcome, call_provider, failure_answer
from caps.capabilities.grant import Grant, Terms
from caps.capabilities.identity import Identity
from caps.capabilities.keyed_answers import CUT_SHORT, NOT_KEPT, KeyedAnswer, KeyedAnswers
from caps.capabilities.provider import CallContext
from caps.capabilities.quota import RateWindows
from caps.capabilities.telemetry import UNREGISTERED, Metrics
from caps.protocol.errors import AuditError
from caps.protocol.messages import CapabilityRequestMessage
from caps.security.audit.log import AuditSink
from caps.security.audit.records import CallStatus, DecisionMade, OutcomeRecorded
from caps.security.decision import (
    Decision,
    KeyUse,
    ReasonCode,
    Request,
    Usage,
    decide,
    error_for,
)
from caps.worker.host.process import Used
from caps.worker.host.supervisor import Answer

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
    tracer: trace.Tracer
    default_timeout_ms: int
    rates: RateWindows = field(default_factory=RateWindows)


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionSummary:
    """One decision as the result of an execution lists it."""

    request_id: str
    capability: str
    decision: str
    reason: str
    rule: str | None
    message: str


class ExecutionBroker:
    """Answers the requests of one execution."""

    def __init__(
        self,
        broker: Broker,
        grant: Grant,
        identity: Identity,
        span: trace.Span,
        *,
        degraded: str | None = None,
        keys: KeyedAnswers | None = None,
        on_decision: Callable[[DecisionSummary], None] | None = None,
    ) -> None:
        """`keys` are shared by the executions of a session; `on_decision` hears of each decision
        as it is made."""
        self.grant = grant
        self.calls = 0
        self.used: Used | None = None
        self.unrecorded: AuditError | None = None
        """Why the evidence of a call is missing, if that happened; the first time."""
        self.decisions: list[DecisionSummary] = []
        self._broker = broker
        self._identity = identity
        # Said in every record, and in the context of every provider call.
        self._who = identity.who(grant.execution_id)
        self._degraded = degraded
        self._span_context = trace.set_span_in_context(span)
        self._deadline = 0.0
        self._in_flight = 0
        self._by_key = KeyedAnswers() if keys is None else keys
        self._on_decision = on_decision

    def begin(self) -> None:
        """Start the clock of the execution: its code is being handed over."""
        self._deadline = time.monotonic() + self.grant.limits.wall_ms / 1000

    async def handle(self, request: CapabilityRequestMessage) -> Answer:
        """Decide, record, act, record; what the worker is told. A failure is an answer, too."""
        began = time.perf_counter()
        decision = decide(
            self.grant, Request(request.capability, request.payload), self._usage(request)
        )
        self.calls += 1
        self._in_flight += 1
        try:
            answer = await self._settle(request, decision)
        except AuditError as error:
            logger.error("a call was refused for want of evidence: %s", error)  # noqa: TRY400
            self.unrecorded = self.unrecorded or error
            self._count_request(request, "audit_error")
            answer = failure_answer(_UNRECORDED)
        finally:
            self._in_flight -= 1
        metrics = self._broker.metrics
        metrics.request_seconds.labels(self._label(request)).observe(time.perf_counter() - began)
        return answer

    def end(self, used: Used | None) -> None:
        """The worker is gone; what the code used of it."""
        self.used = used

    def _usage(self, request: CapabilityRequestMessage) -> Usage:
        terms = self.grant.terms.get(request.capability)
        now = time.monotonic()
        in_window = 0
        if terms is not None and terms.rate is not None:
            in_window = self._broker.rates.used(self._rate_key(terms), terms.rate, now)
        key_use = self._key_use(request)
        calls = self.calls
        if request.idempotency_key is not None and key_use is KeyUse.FRESH:
            # A session keeps the answers of all its keys: no more of them than calls in one run.
            calls = max(calls, len(self._by_key))
        return Usage(calls, self._in_flight, in_window, now > self._deadline, key_use)

    def _key_use(self, request: CapabilityRequestMessage) -> KeyUse:
        if request.idempotency_key is None:
            return KeyUse.FRESH
        recorded = self._by_key.get((request.capability, request.idempotency_key))
        if recorded is None:
            return KeyUse.FRESH
        same = recorded.args_hmac == self._broker.audit.redactor.digest(request.payload)
        return KeyUse.REPEAT if same else KeyUse.CONFLICT

    def _rate_key(self, terms: Terms) -> tuple[str, str, str]:
        return (self.grant.policy_id, self._identity.principal, terms.name)

    async def _settle(self, request: CapabilityRequestMessage, decision: Decision) -> Answer:
        terms = self.grant.terms.get(request.capability)
        if not decision.allowed or terms is None:
            await self._record_decision(request, decision, terms)
            return self._refuse(request, decision)
        key = (request.capability, request.idempotency_key or "")
        recorded = self._by_key.get(key)
        if recorded is not None:
            return await self._repeat(request, decision, terms, recorded)
        if terms.rate is not None:
            self._broker.rates.add(self._rate_key(terms), terms.rate, time.monotonic())
        if request.idempotency_key is None:
            return await self._act(request, decision, terms)
        return await self._act_once(key, request, decision, terms)

    async def _act_once(
        self,
        key: tuple[str, str],
        request: CapabilityRequestMessage,
        decision: Decision,
        terms: Terms,
    ) -> Answer:
        # The key is taken before the first await, so that a repeat at the same time finds it.
        args_hmac = self._broker.audit.redactor.digest(request.payload)
        recorded = self._by_key[key] = KeyedAnswer(args_hmac)
        try:
            answer = await self._act(request, decision, terms)
            kept = self._by_key.has_room_for(answer)
            recorded.answer = answer if kept else failure_answer(NOT_KEPT)
        except AuditError:
            # Whether the effect happened is known only if the decision was recorded; either way
            # a repeat must not act, so the failure is what the key stands for.
            recorded.answer = failure_answer(_UNRECORDED)
            raise
        finally:
            # In a session the key outlives a call that was cancelled; it must not act again.
            if recorded.answer is None:
                recorded.answer = failure_answer(CUT_SHORT)
            recorded.ready.set()
        return answer

    async def _repeat(
        self,
        request: CapabilityRequestMessage,
        decision: Decision,
        terms: Terms,
        recorded: KeyedAnswer,
    ) -> Answer:
        await self._record_decision(request, decision, terms)
        await recorded.ready.wait()
        await self._record_outcome(request, CallStatus.REPLAYED, None, None, 0, 0)
        self._count_request(request, CallStatus.REPLAYED.value)
        assert recorded.answer is not None  # `ready` is set after it
        return recorded.answer

    async def _act(
        self, request: CapabilityRequestMessage, decision: Decision, terms: Terms
    ) -> Answer:
        await self._record_decision(request, decision, terms)
        timeout_ms = self._timeout_ms(request, terms)
        context = CallContext(
            **self._who,
            request_id=request.request_id,
            capability=terms.name,
            scope=terms.scope,
            timeout_ms=timeout_ms,
        )
        with self._broker.tracer.start_as_current_span(
            f"capability {terms.name}",
            context=self._span_context,
            attributes={"caps.capability": terms.name, "caps.request_id": request.request_id},
        ) as span:
            outcome = await self._call(request, terms, context)
            span.set_attribute("caps.outcome", outcome.status.value)
            if outcome.status is not CallStatus.OK:
                span.set_status(trace.StatusCode.ERROR, outcome.status.value)
        return outcome.answer

    async def _call(
        self, request: CapabilityRequestMessage, terms: Terms, context: CallContext
    ) -> Outcome:
        began = time.perf_counter_ns()
        try:
            outcome = await call_provider(
                terms, context, request.payload, policy_id=self.grant.policy_id
            )
        except anyio.get_cancelled_exc_class():
            # The execution is over. The effect may have begun, so its end is evidence, too.
            with anyio.CancelScope(shield=True):
                await self._record_outcome(
                    request, CallStatus.CANCELLED, None, None, _micros_since(began), 0
                )
            self._count_request(request, CallStatus.CANCELLED.value)
            raise
        await self._record_outcome(
            request,
            outcome.status,
            outcome.reason,
            outcome.detail,
            _micros_since(began),
            outcome.bytes_out,
        )
        if outcome.status is CallStatus.DENIED:
            self._count_denied(request, outcome.reason or ReasonCode.SCOPE_VIOLATION.value)
        self._count_request(request, outcome.status.value)
        return outcome

    def _refuse(self, request: CapabilityRequestMessage, decision: Decision) -> Answer:
        self._count_denied(request, decision.reason.value)
        self._count_request(request, "denied")
        return failure_answer(error_for(decision, request.capability))

    def _timeout_ms(self, request: CapabilityRequestMessage, terms: Terms) -> int:
        asked = (request.timeout_ms, terms.spec.timeout_ms, self._broker.default_timeout_ms)
        return min(value for value in asked if value is not None)

    async def _record_decision(
        self, request: CapabilityRequestMessage, decision: Decision, terms: Terms | None
    ) -> None:
        redactor = self._broker.audit.redactor
        redacted = redactor.split(request.payload, terms.spec.shown if terms else ())
        key = request.idempotency_key
        verdict: Literal["allow", "deny"] = "allow" if decision.allowed else "deny"
        summary = DecisionSummary(
            request_id=request.request_id,
            capability=request.capability,
            decision=verdict,
            reason=decision.reason.value,
            rule=decision.rule,
            message=decision.message,
        )
        self.decisions.append(summary)
        if self._on_decision is not None:
            self._on_decision(summary)
        await self._broker.audit.append(
            DecisionMade(
                **self._who,
                degraded=self._degraded,
                request_id=request.request_id,
                capability=request.capability,
                decision=verdict,
                reason=decision.reason.value,
                rule=decision.rule,
                message=decision.message,
                nearest=decision.nearest,
                policy_id=decision.policy_id,
                policy_sha256=decision.policy_sha256,
                args_hmac=redacted.args_hmac,
                shown=redacted.shown,
                hidden=redacted.hidden,
                idempotency_key_hmac=None if key is None else redactor.digest(key),
            )
        )

    async def _record_outcome(
        self,
        request: CapabilityRequestMessage,
        status: CallStatus,
        reason: str | None,
        detail: str | None,
        duration_us: int,
        bytes_out: int,
    ) -> None:
        await self._broker.audit.append(
            OutcomeRecorded(
                **self._who,
                degraded=self._degraded,
                request_id=request.request_id,
                capability=request.capability,
                status=status,
                reason=reason,
                detail=detail,
                duration_us=duration_us,
                bytes_out=bytes_out,
            )
        )

    def _label(self, request: CapabilityRequestMessage) -> str:
        # A name that a worker made up must not become a label.
        return request.capability if request.capability in self.grant.terms else UNREGISTERED

    def _count_request(self, request: CapabilityRequestMessage, outcome: str) -> None:
        self._broker.metrics.requests.labels(self._label(request), outcome).inc()

    def _count_denied(self, request: CapabilityRequestMessage, reason: str) -> None:
        self._broker.metrics.denied.labels(self._label(request), reason).inc()


def _micros_since(began_ns: int) -> int:
    return (time.perf_counter_ns() - began_ns) // 1000
