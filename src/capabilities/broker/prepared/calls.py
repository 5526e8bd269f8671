"""(6) Prepared calls: decide, record, call, record for calls without surprises: the fast path.

Rules that are applied here, with the values of now:

- the deadline of the execution, `limits.calls` and `limits.concurrency`;
- a capability that was revoked, or that lacks its tool card, is not called;
- the payload fits the schema, and the scope of each policy;
- no provider is called before the decisions of all are in the log, nor if it was revoked or the
  time is over by then;
- there is no answer before the outcomes of all are in the log, and their marks in the channel.

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
from collections.abc import Sequence

from msgspec.structs import replace

from caps.capabilities.broker.batch import InlineBatch, turn_is_over
from caps.capabilities.broker.invoke import call_inline
from caps.capabilities.broker.prepared.records import DECISION, OUTCOME
from caps.capabilities.broker.prepared.rest import Invoked, ReturningBatch
from caps.protocol.errors import AuditError
from caps.security.audit.model.chain import EncodedRecord
from caps.security.audit.model.records import CallStatus
from caps.security.policies.flow_rules import NO_MARKS
from caps.worker.host.supervisor.interface import CallResponse


class PreparedBatch(ReturningBatch):
    """The calls of one read, all of them prepared."""

    def run(self) -> None:
        """All steps, unless the lifecycle has to take some of them."""
        records = self._decide()
        if records is not None and self._append(records, DECISION):
            self._decided, self._appending = True, ()
            outcomes = self._call_all()
            if len(outcomes) < len(self._pairs):
                self._continue()
            elif self._append(outcomes, OUTCOME):
                self._answer()
            elif self._general is None:
                self._continue()
        elif self._general is None:  # nothing is recorded
            self._general = InlineBatch(self._broker, [request for request, _ in self._pairs])

    def _decide(self) -> list[EncodedRecord] | None:
        """The records of the decisions; None unless each call is certainly allowed."""
        grant, split = self._broker.grant, self._broker.audit.redactor.split
        if not self._broker.meter.has_room(len(self._pairs)):
            return None
        records = []
        try:
            for request, call in self._pairs:
                name, payload = request.capability, request.payload
                if request.idempotency_key is not None or request.timeout_ms is not None:
                    return None
                if name in grant.revoked or name in grant.uncarded:
                    return None
                if call.fits_schema(payload) is not True:
                    return None
                if call.scopes and not call.fits_scopes(payload):
                    return None
                redacted = split(payload, call.bound.spec.shown)
                record = call.texts.decision_record(request.request_id, redacted)
                if record is None:
                    return None
                records.append(record)
        except Exception:  # noqa: BLE001 - the lifecycle decides, and meets the same error
            return None
        return records

    def _call_all(self) -> list[EncodedRecord]:
        """The records of the outcomes, up to the first call that the lifecycle has to do with."""
        broker, began, size = self._broker, time.perf_counter(), 0
        records: list[EncodedRecord] = []
        for request, call in self._pairs:
            if request.capability in broker.grant.revoked or not broker.meter.has_room(0):
                break
            if records and turn_is_over(began, size):
                break
            rid, began_ns = request.request_id, time.perf_counter_ns()
            added: set[str] = set()
            context = replace(call.context, request_id=rid, answered=self.answered, added=added)
            policy_id = call.decision.policy_id
            outcome = call_inline(call.bound, context, request.payload, policy_id=policy_id)
            took_us = (time.perf_counter_ns() - began_ns) // 1000
            self._made.append(Invoked(began_ns, added, outcome))
            if outcome.status is not CallStatus.OK or added:
                break
            if broker.artifacts.artifacts and broker.artifacts.records_of(rid):
                break
            size += outcome.bytes_out
            records.append(call.texts.outcome_record(rid, outcome.bytes_out, took_us))
        return records

    def _append(self, records: Sequence[EncodedRecord], kind: str) -> bool:
        """Whether the records are durable. If they cannot be, the calls fail in the lifecycle."""
        self._appending = records
        try:
            return self._broker.audit.append_encoded(records, kind)
        except AuditError as error:
            self._continue().fail(error)
            return False

    def _answer(self) -> None:
        """Everything is durable: mark the channel, count the calls, and give the responses."""
        flow, add_allowed = self._broker.flow, self._broker.evidence.add_allowed
        answers: list[CallResponse | None] = []
        for (request, call), made in zip(self._pairs, self._made, strict=True):
            assert made.outcome is not None  # only an interrupt leaves none, and ends `run`
            if not call.marks <= flow.answered:
                flow.add(request.capability, NO_MARKS)
            add_allowed(request, call.decision)
            answers.append(made.outcome.answer)
        self._broker.meter.count(len(answers))
        self._answers = answers
