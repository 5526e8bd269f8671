"""The results of a run as files: `latest.json` is the short form, `details.json` has everything.

`latest.json` is one object for each comparison that could be made:
`{"name": {"median_us": …, "ratio": …, "against": …}}`. `median_us` is null where something other
than time is measured. A comparison whose peer is missing is in the details only, with the reason.
The details also have the load average at the start and the end of the run.
"""

from __future__ import annotations

import errno
import functools
import json
import os
import platform
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.figures import Finding, Goal, Samples, Unit, goals, judge_all, median, p95
from bench.peers import EVERYONE
from bench.rows import Effort, Row

LATEST = "latest.json"
DETAILS = "details.json"

# Over the last 1, 5 and 15 minutes, as returned by `os.getloadavg`.
Load = tuple[float, float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One row and its result: samples, or why there are none."""

    row: Row
    samples: Samples | None
    seconds: float
    failure: str = ""
    effort: Effort = Effort.FULL

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Its comparisons, judged if there are enough samples; none if the row failed."""
        if self.samples is None:
            return ()
        return judge_all(self.row.comparisons, self.samples, verdicts=self.effort.gives_verdicts)

    @property
    def goals(self) -> tuple[Goal, ...]:
        """The goals of the row."""
        return goals(self.findings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The results of all rows, and the kind of the run."""

    outcomes: tuple[Outcome, ...]
    effort: Effort
    load_at_start: Load
    load_at_end: Load
    interrupted: bool = False

    @property
    def goals(self) -> tuple[Goal, ...]:
        """The goals of all rows."""
        return tuple(goal for outcome in self.outcomes for goal in outcome.goals)


def latest(outcomes: Sequence[Outcome]) -> dict[str, dict[str, Any]]:
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


def details(run: Run) -> dict[str, Any]:
    """The long form: every contender, every verdict, every reason."""
    return {
        "effort": run.effort.value,
        "interrupted": run.interrupted,
        "load_average": {"start": list(run.load_at_start), "end": list(run.load_at_end)},
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.release()} {platform.machine()}",
        "peers": {peer.name: _version(peer.module) for peer in EVERYONE},
        "rows": {outcome.row.name: _row_details(outcome) for outcome in run.outcomes},
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
        "alternative_to": comparison.alternative_to,
        "ratio": finding.ratio,
        "verdict": finding.verdict.value,
        "reason": finding.reason,
    }


def _version(module: str) -> str | None:
    from importlib.metadata import version

    owners = _packages_by_module().get(module, [])
    return version(owners[0]) if owners else None


@functools.cache
def _packages_by_module() -> Mapping[str, list[str]]:
    """Reads the list of files of every installed package, which takes a while."""
    from importlib.metadata import packages_distributions

    return packages_distributions()


def prepare(directory: Path) -> None:
    """Create `directory` if it is missing, and try to write to it. Raises OSError if that fails.

    Called before the first row is measured, so that a misspelt path does not cost a run of minutes.
    """
    if directory.exists() and not directory.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(directory))
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=directory) as probe:
        probe.write(b"probe")


def write(directory: Path, run: Run) -> None:
    """Write both files to `directory`."""
    _write(directory / LATEST, latest(run.outcomes))
    _write(directory / DETAILS, details(run))


def _write(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n")
