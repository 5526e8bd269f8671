"""The arithmetic of the tables, without IO: medians, percentiles, ratios and verdicts.

Times of two runs cannot be compared on a shared machine, so a comparison is always a ratio of two
medians that were sampled in turn. A ratio of times is better when it is small. A ratio of rates,
which is the inverse ratio of the same medians, is better when it is large.
"""

from __future__ import annotations

import enum
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace


class Form(enum.Enum):
    """What a ratio compares, and so which direction is better."""

    TIME = "time"  # ours / theirs: at most the goal
    RATE = "rate"  # theirs / ours, as work per second: at least the goal


class Verdict(enum.Enum):
    """How a comparison ended."""

    MET = "met"
    MISSED = "missed"
    NOT_NEEDED = "not needed"  # missed, but an alternative met the goal
    SHOWN = "shown"  # there is no goal, or there are too few samples
    SKIPPED = "skipped"


class Unit(enum.Enum):
    """What the samples of a row are."""

    MICROSECONDS = "µs"
    MEGABYTES = "MB"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One line of the table: `ours` against a contender or against a fixed figure.

    `name` is the key in latest.json. Without `goal` the ratio is shown and not judged. `against`
    is a contender, unless `figure` gives a fixed value. With `alternative_to`, the name of another
    comparison of the row, the two are one goal, and meeting one of them is enough.
    """

    name: str
    against: str
    goal: float | None = None
    form: Form = Form.TIME
    figure: float | None = None
    ours: str = "caps"
    alternative_to: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """What one row measured, by contender, and which contenders were missing and why.

    `parts` breaks down the time of `caps`; `series` holds (size, microseconds) for charts.
    """

    values: Mapping[str, Sequence[float]]
    skipped: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    parts: Mapping[str, float] = field(default_factory=dict)
    series: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A comparison with its verdict."""

    comparison: Comparison
    verdict: Verdict
    median: float | None
    ratio: float | None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """A goal: one finding, or several alternatives of which one must meet it."""

    findings: tuple[Finding, ...]

    @property
    def verdict(self) -> Verdict:
        """Met if one of the findings met it; skipped if none could be judged."""
        found = {finding.verdict for finding in self.findings}
        ranking = (Verdict.MET, Verdict.MISSED, Verdict.SHOWN)
        return next((each for each in ranking if each in found), Verdict.SKIPPED)


def median(values: Sequence[float]) -> float:
    """The middle value. Raises ValueError if there is none."""
    if not values:
        raise ValueError("there is no median of nothing")
    return statistics.median(values)


def p95(values: Sequence[float]) -> float:
    """The smallest sample that at least 95 in 100 do not exceed."""
    if not values:
        raise ValueError("there is no percentile of nothing")
    return sorted(values)[math.ceil(0.95 * len(values)) - 1]


def judge(comparison: Comparison, samples: Samples) -> Finding:
    """The ratio and whether it meets the goal; skipped if either side is missing."""
    ours = samples.values.get(comparison.ours)
    for side in (comparison.ours, comparison.against):
        if side in samples.skipped:
            return _skipped(comparison, ours, samples.skipped[side])
    if not ours:
        return _skipped(comparison, ours, f"`{comparison.ours}` was not measured")
    theirs = _theirs(comparison, samples)
    if theirs is None:
        return _skipped(comparison, ours, f"`{comparison.against}` was not measured")
    mine = median(ours)
    over, under = (mine, theirs) if comparison.form is Form.TIME else (theirs, mine)
    if under == 0:
        return _skipped(comparison, ours, "the clock is too coarse for it")
    ratio = over / under
    return Finding(
        comparison=comparison, verdict=_verdict(comparison, ratio), median=mine, ratio=ratio
    )


def judge_all(
    comparisons: Sequence[Comparison], samples: Samples, *, verdicts: bool = True
) -> tuple[Finding, ...]:
    """Judge all comparisons of a row, some of which may be alternatives.

    Without `verdicts` the ratios are shown and not judged, because there are too few samples.
    """
    findings = tuple(judge(each, samples) for each in comparisons)
    if not verdicts:
        return tuple(
            finding
            if finding.verdict is Verdict.SKIPPED
            else replace(finding, verdict=Verdict.SHOWN)
            for finding in findings
        )
    met = {_goal_name(each) for each in findings if each.verdict is Verdict.MET}
    return tuple(
        replace(finding, verdict=Verdict.NOT_NEEDED)
        if finding.verdict is Verdict.MISSED and _goal_name(finding) in met
        else finding
        for finding in findings
    )


def goals(findings: Sequence[Finding]) -> tuple[Goal, ...]:
    """The goals, with alternatives grouped, in the order of the findings."""
    together: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.comparison.goal is not None:
            together.setdefault(_goal_name(finding), []).append(finding)
    return tuple(Goal(findings=tuple(each)) for each in together.values())


def _goal_name(finding: Finding) -> str:
    return finding.comparison.alternative_to or finding.comparison.name


def _theirs(comparison: Comparison, samples: Samples) -> float | None:
    if comparison.figure is not None:
        return comparison.figure
    values = samples.values.get(comparison.against)
    return median(values) if values else None


def _verdict(comparison: Comparison, ratio: float) -> Verdict:
    if comparison.goal is None:
        return Verdict.SHOWN
    met = ratio <= comparison.goal if comparison.form is Form.TIME else ratio >= comparison.goal
    return Verdict.MET if met else Verdict.MISSED


def _skipped(comparison: Comparison, ours: Sequence[float] | None, reason: str) -> Finding:
    return Finding(
        comparison=comparison,
        verdict=Verdict.SKIPPED,
        median=median(ours) if ours else None,
        ratio=None,
        reason=reason,
    )
