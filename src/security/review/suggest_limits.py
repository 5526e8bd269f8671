"""Limits from observed usage: twice the maximum, rounded up to a round number.

Only executions that ran to their end without a refused call count: nobody knows what the others
would have used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from caps.security.audit.model.records import ExecutionEnded, ExecutionStatus
from caps.security.policy import Limits

_MARGIN: Final = 2
# A lower limit would depend on the machine and not on the code.
_FLOORS: Final[Mapping[str, int]] = {
    "wall_ms": 1000,
    "cpu_ms": 500,
    "memory_mb": 64,
    "calls": 10,
    "concurrency": 4,
    "output_bytes": 4096,
}


@dataclass(frozen=True, slots=True)
class ObservedUsage:
    """What one execution used; `seq` is the record that says so."""

    seq: int
    used: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ProposedLimit:
    """A limit, the largest observed value, and the records that contain it."""

    name: str
    value: int
    most: int
    records: tuple[int, ...]


def observed_usage(
    seq: int, ended: ExecutionEnded, max_in_flight: int, paused_s: float
) -> ObservedUsage | None:
    """What an execution used, if it ran to its end; its clock was paused for `paused_s`."""
    if ended.status is not ExecutionStatus.OK:
        return None
    used = {
        "wall_ms": max(0, -(-(ended.duration_us - int(paused_s * 1_000_000)) // 1000)),
        "calls": ended.calls,
        "concurrency": max_in_flight,
        "output_bytes": ended.output_bytes,
    }
    if ended.cpu_us is not None:
        used["cpu_ms"] = -(-ended.cpu_us // 1000)
    if ended.max_rss_kb is not None:
        used["memory_mb"] = -(-ended.max_rss_kb // 1024)
    return ObservedUsage(seq, used)


def proposed_limits(
    observed: Sequence[ObservedUsage], base: Limits | None = None
) -> tuple[ProposedLimit, ...]:
    """The limits for what was `observed`; limits that were never measured are left out.

    None is wider than the same limit of `base`, under which the executions ran.
    """
    found = []
    for name, floor in _FLOORS.items():
        measured = [(usage.used[name], usage.seq) for usage in observed if name in usage.used]
        if not measured:
            continue
        most = max(amount for amount, _ in measured)
        records = tuple(seq for amount, seq in measured if amount == most)
        value = min(max(floor, rounded_up(_MARGIN * most)), _ceiling(name, base))
        found.append(ProposedLimit(name, value, most, records))
    return tuple(found)


def rounded_up(number: int) -> int:
    """The next of 1, 2, 5, 10, 20, 50, … that is not smaller."""
    scale = 1
    while True:
        for step in (1, 2, 5):
            if step * scale >= number:
                return step * scale
        scale *= 10


def _ceiling(name: str, base: Limits | None) -> int:
    """The largest value that may be proposed: that of `base`, or the most a policy may set."""
    if base is not None:
        return int(getattr(base, name))
    bounds = (getattr(part, "le", None) for part in Limits.model_fields[name].metadata)
    return next(int(bound) for bound in bounds if bound is not None)
