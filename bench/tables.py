"""The tables that a person reads: one for each row, and the goals at the end."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bench.figures import Finding, Form, Samples, Unit, Verdict, median, p95
from bench.results import Outcome
from bench.rows import Row

_COLOURS = {
    Verdict.MET: "green",
    Verdict.MISSED: "red",
    Verdict.SHOWN: "dim",
    Verdict.SKIPPED: "yellow",
}


def show(console: Console, outcome: Outcome) -> None:
    """What one row found."""
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
    for name, reason in samples.skipped.items():
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
    return escape(ours), _ratio(finding), _goal(finding), _verdict(finding)


def summary(console: Console, outcomes: list[Outcome]) -> None:
    """Every goal, met or missed."""
    table = _table("goal", "ratio", "bound", "")
    table.title = "goals"
    judged = [each for outcome in outcomes for each in outcome.findings]
    for finding in judged:
        if finding.comparison.goal is not None:
            name = f"{finding.comparison.name} ({finding.comparison.against})"
            table.add_row(escape(name), _ratio(finding), _goal(finding), _verdict(finding))
    console.print()
    console.print(table)
    for outcome in outcomes:
        if outcome.samples is None:
            console.print(f"[red]{outcome.row.name} failed:[/red] {escape(outcome.failure)}")


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


def _ratio(finding: Finding) -> str:
    return "-" if finding.ratio is None else f"{finding.ratio:.3g}"


def _goal(finding: Finding) -> str:
    comparison = finding.comparison
    if comparison.goal is None:
        return ""
    sign = "<=" if comparison.form is Form.TIME else ">="
    return f"{sign} {comparison.goal:.3g}"


def _verdict(finding: Finding) -> str:
    colour = _COLOURS[finding.verdict]
    word = "" if finding.verdict is Verdict.SHOWN else finding.verdict.value
    return f"[{colour}]{word}[/{colour}]"


def quantity(value: float, unit: Unit) -> str:
    """With a unit that leaves few digits."""
    if unit is Unit.MEGABYTES:
        return f"{value:.2f} MB"
    for size, name in ((1_000_000, "s"), (1000, "ms")):
        if abs(value) >= size:
            return f"{value / size:.2f} {name}"
    return f"{value:.2f} µs"
