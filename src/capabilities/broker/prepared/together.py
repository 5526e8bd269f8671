"""(6) Prepared calls that came in one read (a `gather`): two writes of the log for all of them.

The steps of each call are those of `calls.py`; here is only their order, as in `broker/batch.py`.
"""

from __future__ import annotations

import time

from caps.capabilities.broker.batch import InlineBatch, turn_is_over
from caps.capabilities.broker.invoke import outside_task
from caps.capabilities.broker.prepared.calls import answer_call, decide_call, make_call
from caps.capabilities.broker.prepared.records import DECISION, OUTCOME
from caps.capabilities.broker.prepared.rest import ReturningBatch
from caps.protocol.errors import AuditError
from caps.security.audit.model.chain import EncodedRecord
from caps.worker.host.supervisor.interface import CallResponse


class PreparedBatch(ReturningBatch):
    """The calls of one read, all of them prepared."""

    def run(self) -> None:
        """All steps, unless the lifecycle has to take some of them."""
        broker, done = self._broker, self._done
        try:
            records = self._decide_all()
            done.appending = records or ()
            if not records or not broker.audit.append_encoded(records, DECISION):
                requests = [request for request, _ in self._pairs]
                self._general = InlineBatch(broker, requests)  # nothing is recorded
                return
            done.decided, done.appending = True, ()
            records = outside_task(self._call_all)
            if len(records) == len(self._pairs):
                done.appending = records
                if broker.audit.append_encoded(records, OUTCOME):
                    self._answers = self._answer_all()
                    return
        except AuditError as error:
            done.failure = error
        self.continued()

    def _decide_all(self) -> list[EncodedRecord] | None:
        """The records of the decisions; None unless each call is certainly allowed."""
        if not self._broker.meter.has_room(len(self._pairs)):
            return None
        records = []
        for request, call in self._pairs:
            record = decide_call(self._broker, request, call)
            if record is None:
                return None
            records.append(record)
        return records

    def _call_all(self) -> list[EncodedRecord]:
        """The records of the outcomes, up to the first call that the lifecycle has to do with."""
        began, records = time.perf_counter(), list[EncodedRecord]()
        for request, call in self._pairs:
            if records and turn_is_over(began, self._done.size):
                break
            made = make_call(self._broker, request, call, self.answered)
            if not isinstance(made, tuple):
                self._done.add_other(made)
                break
            began_ns, result, record = made
            self._done.add_result(began_ns, result)
            records.append(record)
        return records

    def _answer_all(self) -> list[CallResponse | None]:
        return [
            answer_call(self._broker, request, call, result)
            for (request, call), (_, result) in zip(self._pairs, self._done.results, strict=True)
        ]
