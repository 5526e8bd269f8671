"""What a run found, as files: `latest.json` is the short form, `details.json` has all of it.

`latest.json` is one object for each comparison that could be made:
`{"name": {"median_us": …, "ratio": …, "against": …}}`. `median_us` is null where what is measured
is not a time. A comparison whose peer is missing is in the details only, with the reason.
"""

from __future__ import annotations

import json
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.figures import Finding, Samples, Unit, Verdict, judge, median, p95
from bench.peers import EVERYONE
from bench.rows import Effort, Row

LATEST = "latest.json"
DETAILS = "details.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One row and what came of it: samples, or why there are none."""

    row: Row
    samples: Samples | None
    seconds: float
    failure: str = ""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Its comparisons, judged; none if the row failed."""
        if self.samples is None:
            return ()
        return tuple(judge(each, self.samples) for each in self.row.comparisons)


def latest(outcomes: list[Outcome]) -> dict[str, dict[str, Any]]:
    """The short form."""
    return {
        finding.comparison.name: {
            "median_us": _microseconds(outcome.row, finding),
            "ratio": round(finding.ratio, 4),
            "against": finding.comparison.against,
        }
        for outcome in outcomes
        for finding in outcome.findings
        if finding.ratio is not None
    }


def _microseconds(row: Row, finding: Finding) -> float | None:
    if row.unit is not Unit.MICROSECONDS or finding.median is None:
        return None
    return round(finding.median, 3)


def details(outcomes: list[Outcome], effort: Effort) -> dict[str, Any]:
    """The long form: every contender, every verdict, every reason."""
    return {
        "effort": effort.value,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.release()} {platform.machine()}",
        "peers": {peer.name: _version(peer.module) for peer in EVERYONE},
        "rows": {outcome.row.name: _row_details(outcome) for outcome in outcomes},
    }


def _row_details(outcome: Outcome) -> dict[str, Any]:
    row, samples = outcome.row, outcome.samples
    if samples is None:
        return {"title": row.title, "failure": outcome.failure}
    return {
        "title": row.title,
        "seconds": round(outcome.seconds, 2),
        "unit": row.unit.value,
        "contenders": {
            name: {"median": median(values), "p95": p95(values), "samples": len(values)}
            for name, values in samples.values.items()
            if values
        },
        "skipped": dict(samples.skipped),
        "comparisons": {each.comparison.name: _judged(each) for each in outcome.findings},
        "parts": dict(samples.parts),
        "series": {name: list(points) for name, points in samples.series.items()},
        "notes": list(samples.notes),
    }


def _judged(finding: Finding) -> dict[str, Any]:
    comparison = finding.comparison
    return {
        "ours": comparison.ours,
        "against": comparison.against,
        "form": comparison.form.value,
        "goal": comparison.goal,
        "ratio": finding.ratio,
        "verdict": finding.verdict.value,
        "reason": finding.reason,
    }


def _version(module: str) -> str | None:
    from importlib.metadata import packages_distributions, version

    owners = packages_distributions().get(module, [])
    return version(owners[0]) if owners else None


def write(directory: Path, outcomes: list[Outcome], effort: Effort) -> None:
    """Put both files into `directory`, which is made if it is not there."""
    directory.mkdir(parents=True, exist_ok=True)
    _write(directory / LATEST, latest(outcomes))
    _write(directory / DETAILS, details(outcomes, effort))


def _write(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def missed(outcomes: list[Outcome]) -> list[Finding]:
    """The comparisons whose goal was not met."""
    return [
        finding
        for outcome in outcomes
        for finding in outcome.findings
        if finding.verdict is Verdict.MISSED
    ]
