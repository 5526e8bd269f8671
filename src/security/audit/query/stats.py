"""(8) Statistics of a log: how much was refused, why, and to which callers.

Counted while the records are streamed. Names of capabilities and callers may come from hostile
code, which could invent any number of them; those beyond `MAX_NAMES` are counted as one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from caps.security.audit.model.records import (
    AuditRecord,
    DecisionMade,
    ExecutionEnded,
    LimitReached,
    OutcomeRecorded,
    kind_of,
)

MAX_NAMES: Final = 10_000
OTHERS: Final = "(others)"


@dataclass(frozen=True, slots=True, order=True)
class Caller:
    """The principal and agent for which code ran."""

    principal: str
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """A refused capability: how often, why, and the callers behind it, most often first."""

    capability: str
    count: int
    reasons: tuple[tuple[str, int], ...]
    callers: tuple[tuple[Caller, int], ...]


@dataclass(slots=True)
class AuditStats:
    """The totals of a log."""

    records: int = 0
    first_ts: str | None = None
    last_ts: str | None = None
    kinds: Counter[str] = field(default_factory=Counter)
    decisions: Counter[str] = field(default_factory=Counter)
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)
    executions: Counter[str] = field(default_factory=Counter)
    limits: Counter[str] = field(default_factory=Counter)
    _refusals: dict[str, tuple[Counter[str], Counter[Caller]]] = field(default_factory=dict)

    @classmethod
    def of(cls, records: Iterable[AuditRecord]) -> AuditStats:
        stats = cls()
        for record in records:
            stats.add(record)
        return stats

    def add(self, record: AuditRecord) -> None:
        self.records += 1
        self.first_ts = min(self.first_ts or record.ts, record.ts)
        self.last_ts = max(self.last_ts or record.ts, record.ts)
        event = record.event
        self.kinds[kind_of(event)] += 1
        match event:
            case DecisionMade():
                self.decisions[event.decision] += 1
                self.reasons[event.decision, event.reason] += 1
                if event.decision == "deny":
                    self._refuse(event)
            case OutcomeRecorded():
                self.calls[event.status.value] += 1
            case ExecutionEnded():
                self.executions[event.status.value] += 1
            case LimitReached():
                self.limits[event.limit] += 1
            case _:
                pass  # counted by its kind

    def refused(self, top: int | None = None) -> list[Refused]:
        """Return the refused capabilities, most often first; at most `top`, with `top` callers."""
        found = [
            Refused(name, callers.total(), _ordered(reasons), _ordered(callers)[:top])
            for name, (reasons, callers) in self._refusals.items()
        ]
        found.sort(key=lambda item: (-item.count, item.capability))
        return found[:top]

    def as_json(self, top: int | None = None) -> dict[str, Any]:
        """Return the totals as plain data."""
        return {
            "records": self.records,
            "first_ts": self.first_ts,
            "last_ts": self.last_ts,
            "kinds": dict(_ordered(self.kinds)),
            "decisions": dict(_ordered(self.decisions)),
            "reasons": [
                {"decision": decision, "reason": reason, "count": count}
                for (decision, reason), count in _ordered(self.reasons)
            ],
            "calls": dict(_ordered(self.calls)),
            "executions": dict(_ordered(self.executions)),
            "limits": dict(_ordered(self.limits)),
            "refused": [_refused_json(item) for item in self.refused(top)],
        }

    def _refuse(self, event: DecisionMade) -> None:
        name = event.capability
        if name not in self._refusals and len(self._refusals) >= MAX_NAMES:
            name = OTHERS
        reasons, callers = self._refusals.setdefault(name, (Counter(), Counter()))
        reasons[event.reason] += 1
        caller = Caller(event.principal, event.agent)
        if caller not in callers and len(callers) >= MAX_NAMES:
            caller = Caller(OTHERS)
        callers[caller] += 1


def _ordered(counts: Counter[Any]) -> tuple[tuple[Any, int], ...]:
    return tuple(sorted(counts.items(), key=lambda item: (-item[1], str(item[0]))))


def _refused_json(item: Refused) -> dict[str, Any]:
    return {
        "capability": item.capability,
        "count": item.count,
        "reasons": dict(item.reasons),
        "callers": [
            {"principal": caller.principal, "agent": caller.agent, "count": count}
            for caller, count in item.callers
        ],
    }
