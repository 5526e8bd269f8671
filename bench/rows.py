"""A row of the benchmark: how it is sampled, and what its samples are compared with."""

from __future__ import annotations

import enum
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from bench.figures import Comparison, Samples, Unit
from bench.interleaving import Progress

Value = TypeVar("Value")


class Effort(enum.Enum):
    """How much time the run may take: several minutes, or one."""

    FULL = "full"
    QUICK = "quick"

    def of(self, full: Value, quick: Value) -> Value:
        """`full` or `quick`, according to this effort."""
        return full if self is Effort.FULL else quick

    @property
    def gives_verdicts(self) -> bool:
        """Whether there are enough samples to decide that a goal is met or missed."""
        return self is Effort.FULL


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the goals, and everything that is measured for it."""

    name: str
    title: str
    comparisons: tuple[Comparison, ...]
    measure: Callable[[Effort, Progress], Awaitable[Samples]]
    unit: Unit = Unit.MICROSECONDS
