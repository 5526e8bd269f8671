"""The printed tables: one for each row, and the goals at the end.

A run with too few samples for a verdict says so above and below the goals, and does not mark any
goal as met or missed.
"""

from __future__ import annotations

import os

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bench.figures import Finding, Form, Goal, Samples, Unit, Verdict, median, p95
from bench.peers import absent, installing
from bench.results import Outcome, Run
from bench.rows import Row

_COLOURS = {
    Verdict.MET: "green",
    Verdict.MISSED: "red",
    Verdict.NOT_NEEDED: "dim",
    Verdict.SHOWN: "dim",
    Verdict.SKIPPED: "yellow",
}
_NO_VERDICT = "a quick run: too few samples for a verdict"
_BEYOND = (
    Verdict.MISSED,
    Verdict.NOT_NEEDED,
)  # a ratio on the wrong side of the goal has one of these
_DIGITS, _ALL_DIGITS = 3, 17  # with 17 digits all floats differ


def show_absent(console: Console) -> None:
    """Print, once before the first row, the missing peers and a command that installs them."""
    peers = absent()
    if not peers:
        return
    names = ", ".join(peer.name for peer in peers)
    command = installing(*(peer.extra for peer in peers))
    console.print(f"[yellow]skipped, as not installed:[/yellow] {names}; this brings them:")
    # Not wrapped: a command that is split over two lines cannot be copied.
    console.print(f"  {escape(command)}", soft_wrap=True)


def show(console: Console, outcome: Outcome) -> None:
    """Print the results of one row."""
    row, samples = outcome.row, outcome.samples
    console.print(f"\n[bold]{escape(row.title)}[/bold]  ({row.name}, {outcome.seconds:.1f} s)")
    if samples is None:
        console.print(f"  [red]failed:[/red] {escape(outcome.failure)}")
        return
    console.print(_contenders(row, samples))
    if any(finding.verdict is not Verdict.SKIPPED for finding in outcome.findings):
        console.print(_comparisons(outcome.findings))
    if samples.parts:
        console.print(_parts(samples))
    for note in samples.notes:
        console.print(f"  {escape(note)}")
    _show_skipped(console, samples)


def _show_skipped(console: Console, samples: Samples) -> None:
    """Print the skipped contenders; missing peers, listed at the start, by name only."""
    said = {peer.missing: peer.name for peer in absent()}
    missing = dict.fromkeys(said[why] for why in samples.skipped.values() if why in said)
    if missing:
        console.print(f"  [yellow]skipped:[/yellow] {escape(', '.join(missing))}")
    for name, reason in samples.skipped.items():
        if reason not in said:
            console.print(f"  [yellow]skipped[/yellow] {escape(name)}: {escape(reason)}")


def _contenders(row: Row, samples: Samples) -> Table:
    table = _table("who", "median", "p95", "samples")
    for name, values in samples.values.items():
        if values:
            table.add_row(
                escape(name),
                quantity(median(values), row.unit),
                quantity(p95(values), row.unit),
                str(len(values)),
            )
    return table


def _comparisons(findings: tuple[Finding, ...]) -> Table:
    table = _table("comparison", "ratio", "goal", "")
    for finding in findings:
        if finding.verdict is not Verdict.SKIPPED:
            table.add_row(*_line(finding))
    return table


def _line(finding: Finding) -> tuple[str, str, str, str]:
    comparison = finding.comparison
    what = "per second, of" if comparison.form is Form.RATE else "of"
    ours = f"{comparison.ours} {what} {comparison.against}"
    ratio, goal = _figures(finding)
    return escape(ours), ratio, goal, _coloured(finding.verdict)


def summary(console: Console, run: Run) -> None:
    """Print every goal, met or missed, with the counts; or that this run gives no verdict."""
    console.print()
    if not run.effort.gives_verdicts:
        console.print(_NO_VERDICT)
    table = _table("goal", "ratio", "bound", "")
    table.title = "goals"
    for goal in run.goals:
        table.add_row(*_goal_line(goal))
    console.print(table)
    if not run.effort.gives_verdicts:
        console.print(_NO_VERDICT)
    for outcome in run.outcomes:
        if outcome.samples is None:
            console.print(f"[red]{outcome.row.name} failed:[/red] {escape(outcome.failure)}")
    console.print(
        f"\nload average {run.load_at_start[0]:.2f} at the start, {run.load_at_end[0]:.2f} at the "
        f"end, on {os.cpu_count()} cores"
    )


def _goal_line(goal: Goal) -> tuple[str, str, str, str]:
    """One line for a goal, with its alternatives next to each other."""
    names = " or ".join(each.comparison.name for each in goal.findings)
    against = dict.fromkeys(each.comparison.against for each in goal.findings)
    ratios, bounds = zip(*map(_figures, goal.findings), strict=True)
    name = escape(f"{names} ({', '.join(against)})")
    return name, " or ".join(ratios), " or ".join(dict.fromkeys(bounds)), _coloured(goal.verdict)


def count(run: Run) -> str:
    """A summary of the goals, for the last line of the run."""
    verdicts = [goal.verdict for goal in run.goals]
    skipped = verdicts.count(Verdict.SKIPPED)
    if run.effort.gives_verdicts:
        text = f"{_goals(verdicts.count(Verdict.MISSED))} missed"
    else:
        text = f"{_goals(len(verdicts) - skipped)} without a verdict"
    return f"{text}, {skipped} skipped, of {len(verdicts)}"


def _goals(number: int) -> str:
    return f"{number} goal" if number == 1 else f"{number} goals"


def _parts(samples: Samples) -> Table:
    whole = sum(samples.parts.values())
    table = _table("what caps spends it on", "median", "share")
    for name, taken in samples.parts.items():
        share = f"{100 * taken / whole:.0f}%"
        table.add_row(escape(name), quantity(taken, Unit.MICROSECONDS), share)
    return table


def _table(first: str, *others: str) -> Table:
    table = Table(box=None, pad_edge=True, header_style="dim")
    table.add_column(first, min_width=44)
    for name in others:
        table.add_column(name, justify="right", min_width=9)
    return table


def _figures(finding: Finding) -> tuple[str, str]:
    """The ratio and its bound, with enough digits to show on which side the ratio is."""
    ratio, goal = finding.ratio, finding.comparison.goal
    sign = "<=" if finding.comparison.form is Form.TIME else ">="
    digits = _DIGITS
    if ratio is not None and goal is not None and finding.verdict in _BEYOND:
        while f"{ratio:.{digits}g}" == f"{goal:.{digits}g}" and digits < _ALL_DIGITS:
            digits += 1
    text = "-" if ratio is None else f"{ratio:.{digits}g}"
    return text, "" if goal is None else f"{sign} {goal:.{digits}g}"


def _coloured(verdict: Verdict) -> str:
    colour = _COLOURS[verdict]
    word = "" if verdict is Verdict.SHOWN else verdict.value
    return f"[{colour}]{word}[/{colour}]"


def quantity(value: float, unit: Unit) -> str:
    """The value in a unit that needs few digits."""
    if unit is Unit.MEGABYTES:
        return f"{value:.2f} MB"
    for size, name in ((1_000_000, "s"), (1000, "ms")):
        if abs(value) >= size:
            return f"{value / size:.2f} {name}"
    return f"{value:.2f} µs"
