"""The decisions of a log as the tools can use them, with what was known when each was made.

A record shows some arguments and hides the others. A shown one counts as hidden, too, where the
log could not keep it exactly: a text that was cut, or that held half of a surrogate pair. What was
used before a decision (calls, time, calls under way) is counted from the records before it. A call
that waited for a person counts from when it began to wait; its decision is on record only then.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from caps.security.audit.model.sanitize import MAX_TEXT_CHARS
from caps.security.audit.model.records import (
    ApprovalRequested,
    DecisionMade,
    ExecutionEnded,
    ExecutionStarted,
    OutcomeRecorded,
    Record,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """One recorded decision.

    `calls_before` is exact unless the decision `came_late`: then it is too large by what came
    meanwhile. `under_way` are calls that waited, or were allowed, and had no outcome on record yet.
    `elapsed_s` is the time since the code started, without that in which it stood still while calls
    waited for a person; None if its start is not here.
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
    under_way: int
    elapsed_s: float | None
    approval: str | None = None
    """The approval that covered it, if it needed one."""
    came_late: bool = False
    """It is a repeat under an idempotency key, and may have waited with the first call."""

    @property
    def allowed(self) -> bool:
        return self.decision == "allow"


@dataclass(slots=True)
class _Execution:
    started: float | None = None
    learning: bool = False
    terms_sha256: str | None = None
    calls: int = 0
    under_way: set[str] = field(default_factory=set)
    parked: dict[str, tuple[int, int]] = field(default_factory=dict)
    """For each call that waits for a person: the calls before it, and those under way."""
    has_asked: bool = False
    still_since: float = 0.0
    stood_s: float = 0.0

    def park(self, request_id: str, at: float) -> None:
        if not self.parked:
            self.still_since = at
        self.has_asked = True
        self.parked[request_id] = (self.calls, len(self.under_way))
        self.calls += 1
        self.under_way.add(request_id)

    def decide(self, request_id: str, at: float) -> tuple[int, int]:
        """The calls before one that is decided now, and those that were under way."""
        found = self.parked.pop(request_id, None)
        if found is None:
            found = (self.calls, len(self.under_way))
            self.calls += 1
        elif not self.parked:
            self.stood_s += at - self.still_since
        return found

    def stood_until(self, at: float) -> float:
        """For how long its clock stood still; calls that wait together count once."""
        return self.stood_s + (at - self.still_since if self.parked else 0.0)


class Walk:
    """Goes over the records of a log in their order; memory grows with what runs at once."""

    def __init__(self) -> None:
        self._executions: dict[str, _Execution] = {}

    def take(self, record: Record) -> Observed | None:
        """The decision that `record` holds, if it holds one."""
        event = record.event
        match event:
            case ExecutionStarted():
                started = _seconds(record.ts)
                learning = event.mode == "learn"
                self._executions[event.execution_id] = _Execution(
                    started, learning, event.terms_sha256
                )
            case ApprovalRequested():
                asking = self._executions.setdefault(event.execution_id, _Execution())
                asking.park(event.request_id, _seconds(record.ts))
            case OutcomeRecorded():
                execution = self._executions.get(event.execution_id)
                if execution is not None:
                    execution.under_way.discard(event.request_id)
            case ExecutionEnded():
                self._executions.pop(event.execution_id, None)
            case DecisionMade():
                return self._decision(record, event)
            case _:
                pass
        return None

    def stood_s(self, execution_id: str, ts: str) -> float:
        """For how long the clock of an execution that has not ended stood still until `ts`."""
        execution = self._executions.get(execution_id)
        return 0.0 if execution is None else execution.stood_until(_seconds(ts))

    def _decision(self, record: Record, event: DecisionMade) -> Observed:
        execution = self._executions.setdefault(event.execution_id, _Execution())
        at = _seconds(record.ts)
        waited = event.request_id in execution.parked
        is_keyed = event.idempotency_key_hmac is not None
        stood_s = execution.stood_until(at)
        calls_before, under_way = execution.decide(event.request_id, at)
        shown = {name: value for name, value in event.shown.items() if _is_exact(value)}
        observed = Observed(
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
            under_way=under_way,
            elapsed_s=None if execution.started is None else at - execution.started - stood_s,
            approval=event.approval,
            came_late=is_keyed and execution.has_asked and not waited,
        )
        if observed.allowed:
            execution.under_way.add(event.request_id)
        else:
            execution.under_way.discard(event.request_id)
        return observed


def _seconds(ts: str) -> float:
    return datetime.fromisoformat(ts).timestamp()


def _is_exact(value: object) -> bool:
    """False for a text that may stand for another one; see `audit/bounds.py`."""
    if not isinstance(value, str):
        return True
    return len(value) <= MAX_TEXT_CHARS and "\\ud" not in value
