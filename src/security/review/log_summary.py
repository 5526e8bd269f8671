"""What a log says about what code needs: each distinct call once, and what was used.

Whatever was allowed counts as needed. What was refused counts where the code ran to be learned from
(or on request), as in any other log it may be an attack; never what a rule denies, what no policy
can allow, or what was revoked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from caps.security.audit.model.records import ExecutionEnded, OutcomeRecorded, Record
from caps.security.decision import ReasonCode
from caps.security.policy import RuleEffect
from caps.security.policies.load import LoadedPolicy
from caps.security.review.catalogue import Catalogue
from caps.security.review.suggest_limits import SeenUse, seen_use
from caps.security.review.log_decisions import Observed, Walk

MOST_RECORDS: Final = 8
_NEVER: Final = frozenset(
    {
        ReasonCode.UNKNOWN_CAPABILITY,
        ReasonCode.PAYLOAD_INVALID,
        ReasonCode.DENIED_BY_RULE,
        ReasonCode.REVOKED,
        ReasonCode.APPROVAL_DENIED,
        ReasonCode.APPROVAL_TIMEOUT,
        ReasonCode.INTERNAL_ERROR,
    }
)


@dataclass(slots=True)
class Asked:
    """One call as it was made any number of times: the same function and the same arguments."""

    example: Observed
    count: int = 0
    refused: int = 0
    """How often it was refused when it was recorded."""
    records: list[int] = field(default_factory=list)
    largest: int | None = None
    """The size of its largest result; None if one of them is not known."""
    approved: Observed | None = None
    """One of its calls that a person had approved, if there is one."""


@dataclass(slots=True)
class Lessons:
    """What a log says: the calls to allow, those not to, and what was used."""

    asked: dict[tuple[Any, ...], Asked] = field(default_factory=dict)
    left_out: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    counts: dict[tuple[str, str], int] = field(default_factory=dict)
    used: list[SeenUse] = field(default_factory=list)
    unfinished: int = 0
    calls: int = 0

    def leave_out(self, capability: str, because: str, seqs: Sequence[int], count: int) -> None:
        key = (capability, because)
        self.counts[key] = self.counts.get(key, 0) + count
        records = self.left_out.setdefault(key, [])
        records += seqs[: MOST_RECORDS - len(records)]


def gather(
    catalogue: Catalogue,
    records: Iterable[Record],
    *,
    base: LoadedPolicy | None,
    include_denied: bool,
) -> Lessons:
    """What `records` say, each distinct call once."""
    lessons, walk, underway = Lessons(), Walk(), _Underway()
    for record in records:
        event, stood_s = record.event, 0.0
        if isinstance(event, ExecutionEnded):
            stood_s = walk.stood_s(event.execution_id, record.ts)
        observed = walk.take(record)
        if observed is not None:
            lessons.calls += 1
            underway.see(observed)
            because = _why_not(catalogue, base, observed, include_denied)
            if because is None:
                asked = _remember(lessons, observed)
                underway.waiting[observed.execution_id, observed.request_id] = asked
            else:
                lessons.leave_out(observed.capability, because, [observed.seq], 1)
        elif isinstance(event, OutcomeRecorded):
            found = underway.waiting.pop((event.execution_id, event.request_id), None)
            if found is not None:
                found.largest = max(found.largest or 0, event.bytes_out)
        elif isinstance(event, ExecutionEnded):
            used = underway.end(record.seq, event, stood_s)
            lessons.used += [] if used is None else [used]
            lessons.unfinished += used is None
    return lessons


@dataclass(slots=True)
class _Underway:
    """What is known of executions that have not ended yet in the log."""

    waiting: dict[tuple[str, str], Asked] = field(default_factory=dict)
    at_once: dict[str, int] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)

    def see(self, observed: Observed) -> None:
        execution = observed.execution_id
        self.at_once[execution] = max(self.at_once.get(execution, 0), observed.under_way + 1)
        if not observed.allowed:
            self.refused.add(execution)

    def end(self, seq: int, event: ExecutionEnded, stood_s: float) -> SeenUse | None:
        """What the execution used, if it had all that it asked for."""
        most = self.at_once.pop(event.execution_id, 0)
        was_refused = event.execution_id in self.refused
        self.refused.discard(event.execution_id)
        return None if was_refused else seen_use(seq, event, most, stood_s)


def _remember(lessons: Lessons, observed: Observed) -> Asked:
    # Floats are shown as texts, so that all values can be compared and hashed.
    shown = tuple(sorted((name, repr(value)) for name, value in observed.shown.items()))
    key = (observed.capability, shown, observed.hidden)
    asked = lessons.asked.setdefault(key, Asked(observed))
    asked.count += 1
    asked.refused += not observed.allowed
    asked.approved = asked.approved or (observed if observed.approval else None)
    if len(asked.records) < MOST_RECORDS:
        asked.records.append(observed.seq)
    return asked


def _why_not(
    catalogue: Catalogue, base: LoadedPolicy | None, observed: Observed, include_denied: bool
) -> str | None:
    """Why a call is no reason to allow it; None if it is one."""
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
