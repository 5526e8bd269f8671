"""What code needs according to a log: each distinct call once, and what was used.

Every allowed call counts as needed. A refused call counts only if the code ran in learning mode (or
on request), because in any other log it may be an attack. A call never counts if a rule denies it,
if no policy can allow it, or if it was revoked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from caps.security.audit.model.records import AuditRecord, ExecutionEnded, OutcomeRecorded
from caps.security.policies.load import LoadedPolicy
from caps.security.policy import RuleEffect
from caps.security.reasons import ReasonCode
from caps.security.review.catalogue import Catalogue
from caps.security.review.log_decisions import DecisionReader, RecordedDecision
from caps.security.review.suggest_limits import ObservedUsage, observed_usage

MAX_RECORDS: Final = 8
_NEVER: Final = frozenset(
    {
        ReasonCode.UNKNOWN_CAPABILITY,
        ReasonCode.PAYLOAD_INVALID,
        ReasonCode.DENIED_BY_RULE,
        ReasonCode.FLOW_DENIED,
        ReasonCode.REVOKED,
        ReasonCode.TOOL_CARD_INVALID,
        ReasonCode.APPROVAL_DENIED,
        ReasonCode.APPROVAL_TIMEOUT,
        ReasonCode.INTERNAL_ERROR,
    }
)


@dataclass(slots=True)
class ObservedCallGroup:
    """All calls with the same function and the same arguments."""

    example: RecordedDecision
    count: int = 0
    refused: int = 0
    """How often it was refused when it was recorded."""
    records: list[int] = field(default_factory=list)
    largest: int | None = None
    """The size of its largest recorded result; None if there is none."""
    approved: RecordedDecision | None = None
    """One of its calls that a person had approved, if there is one."""


@dataclass(slots=True)
class LogSummary:
    """The calls of a log to allow, those to leave out, and what was used."""

    groups: dict[tuple[Any, ...], ObservedCallGroup] = field(default_factory=dict)
    left_out: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    counts: dict[tuple[str, str], int] = field(default_factory=dict)
    used: list[ObservedUsage] = field(default_factory=list)
    unfinished: int = 0
    calls: int = 0

    def leave_out(self, capability: str, because: str, seqs: Sequence[int], count: int) -> None:
        key = (capability, because)
        self.counts[key] = self.counts.get(key, 0) + count
        records = self.left_out.setdefault(key, [])
        records += seqs[: MAX_RECORDS - len(records)]


def summarize_log(
    catalogue: Catalogue,
    records: Iterable[AuditRecord],
    *,
    base: LoadedPolicy | None,
    include_denied: bool,
) -> LogSummary:
    """Summarize `records`: each distinct call once."""
    summary, reader, running = LogSummary(), DecisionReader(), _RunningExecutions()
    for record in records:
        event, paused_s = record.event, 0.0
        if isinstance(event, ExecutionEnded):
            paused_s = reader.paused_s(event.execution_id, record.ts)
        observed = reader.read(record)
        if observed is not None:
            summary.calls += 1
            running.add(observed)
            because = _reason_to_leave_out(catalogue, base, observed, include_denied)
            if because is None:
                group = _add_to_group(summary, observed)
                running.waiting[observed.execution_id, observed.request_id] = group
            else:
                summary.leave_out(observed.capability, because, [observed.seq], 1)
        elif isinstance(event, OutcomeRecorded):
            found = running.waiting.pop((event.execution_id, event.request_id), None)
            if found is not None:
                found.largest = max(found.largest or 0, event.bytes_out)
        elif isinstance(event, ExecutionEnded):
            used = running.end(record.seq, event, paused_s)
            summary.used += [] if used is None else [used]
            summary.unfinished += used is None
    return summary


@dataclass(slots=True)
class _RunningExecutions:
    """Executions of the log whose end has not been read yet."""

    waiting: dict[tuple[str, str], ObservedCallGroup] = field(default_factory=dict)
    """The groups of calls without an outcome, by execution and request."""
    max_in_flight: dict[str, int] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)

    def add(self, observed: RecordedDecision) -> None:
        execution, in_flight = observed.execution_id, observed.in_flight + 1
        self.max_in_flight[execution] = max(self.max_in_flight.get(execution, 0), in_flight)
        if not observed.allowed:
            self.refused.add(execution)

    def end(self, seq: int, event: ExecutionEnded, paused_s: float) -> ObservedUsage | None:
        """What the execution used, if none of its calls was refused."""
        max_in_flight = self.max_in_flight.pop(event.execution_id, 0)
        was_refused = event.execution_id in self.refused
        self.refused.discard(event.execution_id)
        return None if was_refused else observed_usage(seq, event, max_in_flight, paused_s)


def _add_to_group(summary: LogSummary, observed: RecordedDecision) -> ObservedCallGroup:
    # Values are compared by their `repr`, so that all of them can be hashed.
    shown = tuple(sorted((name, repr(value)) for name, value in observed.shown.items()))
    key = (observed.capability, shown, observed.hidden)
    group = summary.groups.setdefault(key, ObservedCallGroup(observed))
    group.count += 1
    group.refused += not observed.allowed
    group.approved = group.approved or (observed if observed.approval else None)
    if len(group.records) < MAX_RECORDS:
        group.records.append(observed.seq)
    return group


def _reason_to_leave_out(
    catalogue: Catalogue,
    base: LoadedPolicy | None,
    observed: RecordedDecision,
    include_denied: bool,
) -> str | None:
    """Why a call does not count as needed; None if it does."""
    if observed.capability not in catalogue.capabilities:
        return "it is not registered"
    if base is not None and base.policy.verdict(observed.capability).effect is RuleEffect.DENY:
        return "a rule of the policy denies it"
    if observed.allowed:
        return None
    if observed.reason in _NEVER:
        return f"it was refused: {observed.reason}"
    if observed.learning or include_denied:
        return None
    return f"it was refused ({observed.reason}), and refusals are not learned from"
