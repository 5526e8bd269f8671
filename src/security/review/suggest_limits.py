"""Limits from what executions were seen to use: twice the most, rounded up to a round number.

Only executions that ran to their end with nothing refused count: what the others would have used
nobody knows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from caps.security.audit.model.records import ExecutionEnded, ExecutionStatus
from caps.security.policy import Limits

_MARGIN: Final = 2
# Below these a limit would hang on the machine and not on the code.
_FLOORS: Final[Mapping[str, int]] = {
    "wall_ms": 1000,
    "cpu_ms": 500,
    "memory_mb": 64,
    "calls": 10,
    "concurrency": 4,
    "output_bytes": 4096,
}


@dataclass(frozen=True, slots=True)
class SeenUse:
    """What one execution used; `seq` is the record that says so."""

    seq: int
    used: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ProposedLimit:
    """A limit, the most that was seen, and the records that say so."""

    name: str
    value: int
    most: int
    records: tuple[int, ...]


def seen_use(seq: int, ended: ExecutionEnded, most_at_once: int, stood_s: float) -> SeenUse | None:
    """What an execution used, if it ran to its end; its clock had stood still for `stood_s`."""
    if ended.status is not ExecutionStatus.OK:
        return None
    used = {
        "wall_ms": max(0, -(-(ended.duration_us - int(stood_s * 1_000_000)) // 1000)),
        "calls": ended.calls,
        "concurrency": most_at_once,
        "output_bytes": ended.output_bytes,
    }
    if ended.cpu_us is not None:
        used["cpu_ms"] = -(-ended.cpu_us // 1000)
    if ended.max_rss_kb is not None:
        used["memory_mb"] = -(-ended.max_rss_kb // 1024)
    return SeenUse(seq, used)


def proposed_limits(
    seen: Sequence[SeenUse], held: Limits | None = None
) -> tuple[ProposedLimit, ...]:
    """The limits that `seen` supports; those that were never measured are left out.

    None is wider than that of `held`, under which all of it was possible.
    """
    found = []
    for name, floor in _FLOORS.items():
        measured = [(use.used[name], use.seq) for use in seen if name in use.used]
        if not measured:
            continue
        most = max(amount for amount, _ in measured)
        records = tuple(seq for amount, seq in measured if amount == most)
        wanted = max(floor, rounded_up(_MARGIN * most))
        found.append(ProposedLimit(name, min(wanted, _ceiling(name, held)), most, records))
    return tuple(found)


def rounded_up(number: int) -> int:
    """The next of 1, 2, 5, 10, 20, 50, … that is not smaller."""
    scale = 1
    while True:
        for step in (1, 2, 5):
            if step * scale >= number:
                return step * scale
        scale *= 10


def _ceiling(name: str, held: Limits | None) -> int:
    """The largest value that may be proposed: what is held, or what a policy may give."""
    if held is not None:
        return int(getattr(held, name))
    bounds = (getattr(part, "le", None) for part in Limits.model_fields[name].metadata)
    return next(int(bound) for bound in bounds if bound is not None)
