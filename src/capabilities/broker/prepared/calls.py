"""(6) Prepared calls: decide, record, call, record for calls without surprises: the fast path.

Rules that are applied here, with the values of now:

- the deadline of the execution, `limits.calls` and `limits.concurrency`;
- a capability that was revoked, or that lacks its tool card, is not called;
- the payload fits the schema, and the scope of each policy;
- no provider is called before its decision (of one read: those of all) is in the log, nor if it
  was revoked or the time is over by then;
- there is no answer before its outcome (of one read: those of all) is in the log, and its marks in
  the channel.

Everything else is left to the lifecycle, before anything is recorded: whatever these rules refuse
(so that every denial is decided there), rates, costs, flow rules, labels, approvals,
dry runs, keys, timeouts of single calls, nested executions, tracing, listeners, a log that must
wait.
Once the decisions are in the log, `rest.py` continues in the lifecycle from that point: a provider
fails, labels its answer or hands something out, the calls take long, the log fails or must wait, an
interrupt comes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from caps.capabilities.broker.batch import InlineBatch
from caps.capabilities.broker.invoke import run_alone
from caps.capabilities.broker.outcomes import ok_outcome
from caps.capabilities.broker.prepared.records import DECISION, OUTCOME
from caps.capabilities.broker.prepared.rest import Invoked, Made, Progress, ReturningBatch
from caps.protocol.errors import AuditError
from caps.protocol.messages import CapabilityRequestMessage
from caps.security.audit.model.chain import EncodedRecord
from caps.security.policies.flow_rules import NO_MARKS
from caps.worker.host.supervisor.interface import CallResponse, RequestBatch

if TYPE_CHECKING:
    from caps.capabilities.broker.broker import ExecutionBroker
    from caps.capabilities.broker.prepared.preparation import PreparedCall


def answer_one(
    broker: ExecutionBroker,
    request: CapabilityRequestMessage,
    call: PreparedCall,
    keep: Callable[[RequestBatch], None],
) -> CallResponse | None:
    """The answer to a request that came alone: all steps in a straight line, outside any task.

    None if the lifecycle has to take some of them: `keep` has got the batch that does. It gets one
    before an interrupt of the host is raised, too.
    """
    began, answered, append = time.perf_counter(), broker.flow.answered, broker.audit.append_encoded
    appending: tuple[EncodedRecord, ...] = ()
    decided, made, failure = False, None, None
    try:
        try:
            record = decide_call(broker, request, call) if broker.meter.has_room(1) else None
            if record is not None:
                appending = (record,)
            if record is None or not append(appending, DECISION):
                keep(InlineBatch(broker, (request,)))  # nothing is recorded
                return None
            decided, appending = True, ()
            made = make_call(broker, request, call, answered)
            if isinstance(made, tuple):
                _, result, record = made
                appending = (record,)
                if append(appending, OUTCOME):
                    answer = answer_call(broker, request, call, result)
                    seconds = time.perf_counter() - began
                    broker.telemetry.count_allowed(request.capability, 1, seconds, len(result))
                    return answer
        except AuditError as error:
            failure = error
        done = Progress.of_one(began, decided, appending, made, failure)
        keep(ReturningBatch(broker, ((request, call),), answered, done))
    except BaseException as interrupt:
        done = Progress.of_one(began, decided, appending, made, failure)
        batch = ReturningBatch(broker, ((request, call),), answered, done)
        keep(batch)
        batch.interrupted(interrupt)
        raise
    return None


def decide_call(
    broker: ExecutionBroker, request: CapabilityRequestMessage, call: PreparedCall
) -> EncodedRecord | None:
    """The record of the decision; None unless the call is certainly allowed."""
    grant, name, payload = broker.grant, request.capability, request.payload
    if request.idempotency_key is not None or request.timeout_ms is not None:
        return None
    if name in grant.revoked or name in grant.uncarded:
        return None
    try:
        if call.fits_schema(payload) is not True:
            return None
        if call.scopes and not call.fits_scopes(payload):
            return None
        redactor, texts = broker.audit.redactor, call.texts
        found = redactor.hidden_text(payload, call.hideable)
        if found is not None:
            return texts.decision_record(request.request_id, *found)
        return texts.decision_of(request.request_id, redactor.split(payload, call.shown))
    except Exception:  # noqa: BLE001 - the lifecycle decides, and meets the same error
        return None


def make_call(
    broker: ExecutionBroker,
    request: CapabilityRequestMessage,
    call: PreparedCall,
    answered: frozenset[str],
) -> Made | Invoked | None:
    """Call the provider. `Invoked` if the lifecycle has to end the call; None if to make it.

    An interrupt before it returns ends the call as interrupted, even if its provider has returned.
    """
    if request.capability in broker.grant.revoked or not broker.meter.is_in_time():
        return None
    rid, began_ns, added = request.request_id, time.perf_counter_ns(), set[str]()
    context = replace(call.context, request_id=rid, answered=answered, added=added)
    bound, policy_id = call.bound, call.decision.policy_id
    result = run_alone(
        call.run, bound, context, request.payload, policy_id, on_asyncio=call.on_asyncio
    )
    took_us = (time.perf_counter_ns() - began_ns) // 1000
    if not isinstance(result, bytes):
        return Invoked(began_ns, added, result)
    if added or (broker.artifacts.artifacts and broker.artifacts.records_of(rid)):
        return Invoked(began_ns, added, ok_outcome(result))
    return began_ns, result, call.texts.outcome_record(rid, len(result), took_us)


def answer_call(
    broker: ExecutionBroker, request: CapabilityRequestMessage, call: PreparedCall, result: bytes
) -> CallResponse:
    """Everything is durable: mark the channel, count the call, and give the response."""
    if not call.marks <= broker.flow.answered:
        broker.flow.add(request.capability, NO_MARKS)
    broker.evidence.add_allowed(request, call.decision)
    broker.meter.count(1)
    return CallResponse(result=msgspec.Raw(result))
