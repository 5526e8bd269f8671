"""The decisions of a log for the review tools, each with what was used before it.

A record shows some arguments and hides the others. A shown argument counts as hidden if the log
could not store it exactly: a string that was cut, or that held half of a surrogate pair. What was
used before a decision (calls, time, calls in flight) is counted from the records before it. A call
that waited for a person counts from when it began to wait; its decision is recorded only later.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from caps.security.audit.model.records import (
    ApprovalRequested,
    AuditRecord,
    CallStatus,
    DecisionMade,
    ExecutionEnded,
    ExecutionStarted,
    OutcomeRecorded,
)
from caps.security.audit.model.sanitize import MAX_TEXT_CHARS
from caps.security.reasons import ReasonCode

# Why a call that was allowed was then not begun.
_NOT_BEGUN = frozenset({ReasonCode.REVOKED.value, ReasonCode.DEADLINE_PASSED.value})


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedDecision:
    """One recorded decision.

    `calls_before` is exact unless the decision was `recorded_late`: then it also counts the calls
    made in the meantime. `in_flight` are calls that waited, or were allowed, and had no recorded
    outcome yet. `elapsed_s` is the time since the code started, without the time in which its clock
    was paused because calls waited for a person; None if the start is not in the log.
    """

    seq: int
    ts: str
    at: float
    execution_id: str
    principal: str
    request_id: str
    capability: str
    decision: str
    reason: str
    rule: str | None
    policy_sha256: str
    terms_sha256: str | None
    shown: Mapping[str, Any]
    hidden: frozenset[str]
    learning: bool
    calls_before: int
    in_flight: int
    elapsed_s: float | None
    approval: str | None = None
    """The approval that covered it, if it needed one."""
    labels: frozenset[str] = frozenset()
    """The labels of what its channel had been answered, as recorded."""
    functions: frozenset[str] = frozenset()
    """The functions that its execution, or the session that it names, had been answered."""
    recorded_late: bool = False
    """Its call has an idempotency key and may have waited together with the first such call."""

    @property
    def allowed(self) -> bool:
        return self.decision == "allow"


@dataclass(slots=True)
class _ObservedExecution:
    started: float | None = None
    single: bool = False
    """Whether it is a single call, which has no record of a start or an end."""
    learning: bool = False
    terms_sha256: str | None = None
    calls: int = 0
    in_flight: set[str] = field(default_factory=set)
    parked: dict[str, tuple[int, int]] = field(default_factory=dict)
    """For each call that waits for a person: the calls before it, and those in flight."""
    has_asked: bool = False
    """Whether one of its calls has waited for a person."""
    paused_since: float = 0.0
    paused_s: float = 0.0
    functions_then: dict[str, frozenset[str]] = field(default_factory=dict)
    """For each call that waits for a person: the functions answered before it."""

    def park(self, request_id: str, at: float) -> None:
        if not self.parked:
            self.paused_since = at
        self.has_asked = True
        self.parked[request_id] = (self.calls, len(self.in_flight))
        self.calls += 1
        self.in_flight.add(request_id)

    def decide(self, request_id: str, at: float) -> tuple[int, int]:
        """The number of calls before the one that is decided now, and of those in flight."""
        found = self.parked.pop(request_id, None)
        if found is None:
            found = (self.calls, len(self.in_flight))
            self.calls += 1
        elif not self.parked:
            self.paused_s += at - self.paused_since
        return found

    def paused_until(self, at: float) -> float:
        """How long its clock was paused until `at`; calls that wait together count once."""
        return self.paused_s + (at - self.paused_since if self.parked else 0.0)


class DecisionReader:
    """Reads the records of a log in order; memory grows with the executions that overlap."""

    def __init__(self) -> None:
        self._executions: dict[str, _ObservedExecution] = {}
        self._functions: dict[tuple[str, str | None, str | None], frozenset[str]] = {}

    def read(self, record: AuditRecord) -> RecordedDecision | None:
        """The decision that `record` holds, if it holds one."""
        event = record.event
        match event:
            case ExecutionStarted():
                started = _seconds(record.ts)
                learning = event.mode == "learn"
                self._executions[event.execution_id] = _ObservedExecution(
                    started, learning=learning, terms_sha256=event.terms_sha256
                )
            case ApprovalRequested():
                asking = self._observed(record, event)
                asking.park(event.request_id, _seconds(record.ts))
                asking.functions_then[event.request_id] = self._answered(event)
            case OutcomeRecorded():
                execution = self._executions.get(event.execution_id)
                if execution is not None:
                    execution.in_flight.discard(event.request_id)
                if _was_answered(event):
                    key = _channel(event)
                    self._functions[key] = self._answered(event) | {event.capability}
                self._forget_single(event)
            case ExecutionEnded():
                self._executions.pop(event.execution_id, None)
                if event.session is None:
                    self._functions.pop(_channel(event), None)
            case DecisionMade():
                return self._decision(record, event)
            case _:
                pass
        return None

    def paused_s(self, execution_id: str, ts: str) -> float:
        """How long the clock of an execution that has not ended was paused until `ts`."""
        execution = self._executions.get(execution_id)
        return 0.0 if execution is None else execution.paused_until(_seconds(ts))

    def _observed(
        self, record: AuditRecord, event: DecisionMade | ApprovalRequested
    ) -> _ObservedExecution:
        """What is known of the execution; a single call starts with its first record."""
        found = self._executions.get(event.execution_id)
        if found is None:
            single = event.via != "code"
            started = _seconds(record.ts) if single else None
            found = _ObservedExecution(started, single)
            self._executions[event.execution_id] = found
        return found

    def _forget_single(self, event: DecisionMade | OutcomeRecorded) -> None:
        """No later record says that a single call is over."""
        execution = self._executions.get(event.execution_id)
        if execution is not None and execution.single:
            del self._executions[event.execution_id]
            if event.session is None:
                self._functions.pop(_channel(event), None)

    def _answered(
        self, event: DecisionMade | OutcomeRecorded | ApprovalRequested
    ) -> frozenset[str]:
        return self._functions.get(_channel(event), frozenset())

    def _decision(self, record: AuditRecord, event: DecisionMade) -> RecordedDecision:
        execution = self._observed(record, event)
        at = _seconds(record.ts)
        waited = event.request_id in execution.parked
        is_keyed = event.idempotency_key_hmac is not None
        paused_s = execution.paused_until(at)
        calls_before, in_flight = execution.decide(event.request_id, at)
        shown = {name: value for name, value in event.shown.items() if _is_exact(value)}
        observed = RecordedDecision(
            seq=record.seq,
            ts=record.ts,
            at=at,
            execution_id=event.execution_id,
            principal=event.principal,
            request_id=event.request_id,
            capability=event.capability,
            decision=event.decision,
            reason=event.reason,
            rule=event.rule,
            policy_sha256=event.policy_sha256,
            terms_sha256=execution.terms_sha256,
            shown=shown,
            hidden=frozenset({*event.hidden, *event.shown} - shown.keys()),
            learning=execution.learning,
            calls_before=calls_before,
            in_flight=in_flight,
            elapsed_s=None if execution.started is None else at - execution.started - paused_s,
            approval=event.approval,
            labels=frozenset(event.labels),
            functions=execution.functions_then.pop(event.request_id, self._answered(event)),
            recorded_late=is_keyed and execution.has_asked and not waited,
        )
        if observed.allowed:
            execution.in_flight.add(event.request_id)
        else:
            execution.in_flight.discard(event.request_id)
            self._forget_single(event)
        return observed


def _was_answered(event: OutcomeRecorded) -> bool:
    """Whether its provider was called and the caller got an answer."""
    if event.status is CallStatus.CANCELLED:
        return event.reason is not None  # revoked: the caller is told so; else there is no answer
    return event.status is not CallStatus.DENIED or event.reason not in _NOT_BEGUN


def _channel(
    event: DecisionMade | OutcomeRecorded | ApprovalRequested | ExecutionEnded,
) -> tuple[str, str | None, str | None]:
    """Executions that name a session of a principal share what was answered."""
    own = None if event.session is not None else event.execution_id
    return event.principal, event.session, own


def _seconds(ts: str) -> float:
    return datetime.fromisoformat(ts).timestamp()


def _is_exact(value: object) -> bool:
    """False for a string that may differ from the original; see `audit/model/sanitize.py`."""
    if not isinstance(value, str):
        return True
    return len(value) <= MAX_TEXT_CHARS and "\\ud" not in value
