"""(6) Calls whose providers never wait: answered together, without a task or a deadline for each.

What a worker sent in one go (a `gather`, or a single call) goes the way of the broker, all of it
step by step:

    decide each -> audit the decisions -> call each provider -> audit the outcomes -> answer all

so that a hundred calls cost two writes of the log. What the broker holds on every path holds here:
no provider is called unless the decision allows it and the records of all decisions are durable;
no answer is given unless all outcomes are durable; what is revoked in between, or would begin after
the end of the execution's time, is not begun. A batch that takes long gives way to others now and
then. A call that may have to wait for
anything (a person, an earlier call with its key, its provider) is none of these.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import anyio
import anyio.lowlevel

from caps.capabilities.calling import Outcome, call_at_once, failure_answer
from caps.capabilities.grant import Terms
from caps.capabilities.telemetry.calls import ObservedCall
from caps.protocol.errors import AuditError
from caps.protocol.messages import CapabilityRequestMessage
from caps.security.audit.records import CallStatus, OutcomeRecorded
from caps.security.decision import Decision, error_for
from caps.worker.host.supervisor import Answer

if TYPE_CHECKING:
    from caps.capabilities.broker import ExecutionBroker
    from caps.capabilities.telemetry.calls import ObservedCall


# For so long the calls of one batch may keep the event loop to themselves.
_TURN_SECONDS: Final = 0.02


@dataclass(slots=True)
class _Call:
    """One of them on its way."""

    request: CapabilityRequestMessage
    terms: Terms
    decision: Decision
    observed: ObservedCall
    outcome: Outcome | None = None
    answer: Answer | None = None


def can_be_at_once(request: CapabilityRequestMessage, terms: Terms | None) -> bool:
    """Whether nothing that `request` asks for can wait."""
    return (
        terms is not None
        and terms.at_once
        and terms.approve is None
        and request.idempotency_key is None
    )


async def answer_at_once(
    broker: ExecutionBroker, requests: Sequence[CapabilityRequestMessage]
) -> list[Answer | None]:
    """The answer to each of `requests` that is such a call; None in the place of the others."""
    begun = [_begin(broker, request) for request in requests]
    calls = [call for call in begun if call is not None]
    if calls:
        try:
            await _settle(broker, calls)
        finally:
            broker.meter.conclude(len(calls))
            for call in calls:
                call.observed.finish(call.answer)
    return [None if call is None else call.answer for call in begun]


def _begin(broker: ExecutionBroker, request: CapabilityRequestMessage) -> _Call | None:
    terms = broker.grant.terms.get(request.capability)
    if terms is None or not can_be_at_once(request, terms):
        return None
    observed = broker.observed.begin(request)
    decision, _ = broker.judge(request)
    if decision.allowed:
        broker.meter.take_rate(terms)  # counts for the next decision
    return _Call(request, terms, decision, observed)


async def _settle(broker: ExecutionBroker, calls: list[_Call]) -> None:
    evidence = broker.evidence
    try:
        await evidence.record_all(
            [evidence.decided(call.request, call.decision, call.terms) for call in calls]
        )
        await _act_on_all(broker, [call for call in calls if call.decision.allowed])
    except AuditError as error:
        unrecorded = broker.miss_evidence(error)
        for call in calls:
            call.answer = unrecorded
            call.observed.ended("audit_error")
    else:
        for call in calls:
            _conclude(broker, call)


async def _act_on_all(broker: ExecutionBroker, calls: list[_Call]) -> None:
    """Call the providers, and record what came of it; in turns, between which others may run.

    Whatever ends this early, what was done is recorded, and that the rest was not begun.
    """
    waiting = deque(calls)
    while waiting:
        outcomes: list[OutcomeRecorded] = []
        until = time.perf_counter() + _TURN_SECONDS
        try:
            while waiting and (not outcomes or time.perf_counter() < until):
                outcomes.append(_act(broker, waiting[0]))
                waiting.popleft()
            await broker.evidence.record_all(outcomes)
            outcomes = []
            if waiting:
                await anyio.lowlevel.checkpoint()
        except AuditError:
            raise  # there is no evidence to be had
        except BaseException:  # the end of the execution, or of the host
            outcomes += [_not_begun(broker, call) for call in waiting]
            with anyio.CancelScope(shield=True):
                await broker.evidence.record_all(outcomes)
            raise


def _not_begun(broker: ExecutionBroker, call: _Call) -> OutcomeRecorded:
    call.observed.ended(CallStatus.CANCELLED.value)
    detail = "it was not begun, or is not known to have ended"
    return broker.evidence.ended(call.request, CallStatus.CANCELLED, None, detail, 0, 0)


def _act(broker: ExecutionBroker, call: _Call) -> OutcomeRecorded:
    """Call the provider; the record of what came of it."""
    request, terms = call.request, call.terms
    began = time.perf_counter_ns()
    if terms.name in broker.grant.revoked:  # while the record was written
        call.outcome = broker.revoked(request, CallStatus.DENIED)
    elif broker.meter.is_over():  # by then, or by what the calls before it took
        call.outcome = broker.late(request)
    else:
        call.outcome = call_at_once(
            terms,
            broker.context_of(request, terms),
            request.payload,
            policy_id=broker.grant.policy_id,
        )
    outcome = call.outcome
    return broker.evidence.ended(
        request,
        outcome.status,
        outcome.reason,
        outcome.detail,
        (time.perf_counter_ns() - began) // 1000,
        outcome.bytes_out,
    )


def _conclude(broker: ExecutionBroker, call: _Call) -> None:
    """Everything is recorded: the answer may be given."""
    evidence, request, outcome = broker.evidence, call.request, call.outcome
    if outcome is None:
        call.answer = failure_answer(error_for(call.decision, request.capability))
        evidence.count_denied(request, call.decision.reason.value)
        call.observed.ended(CallStatus.DENIED.value)
        return
    call.answer = outcome.answer
    if outcome.status is CallStatus.DENIED:
        evidence.count_denied(request, outcome.denied_for)
    call.observed.ended(outcome.status.value, outcome.reason, outcome.bytes_out)
