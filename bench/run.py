"""The command: select rows, run them one after another, print, write files and charts.

python -m bench [--quick] [--only ROW]... [--list] [--json] [--results DIR]

It exits with 0 whether goals are met or not, because times depend on the machine; with 1 if a row
of ours could not be measured; with 2 if a requested row does not exist or the directory cannot be
written to; with 130 if it is interrupted, after showing and writing the rows measured so far.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import anyio
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from bench import tables
from bench.catalogue import chosen
from bench.interleaving import is_interrupted
from bench.peers import installing
from bench.results import LATEST, Outcome, Run, latest, prepare, write
from bench.rows import Effort, Row

_WIDTH_OF_FILES = 120
_INTERRUPTED = 130  # as in shells: 128 plus the number of the signal

RESULTS = Path(__file__).parent / "results"
# A separate directory, so that a quick run does not overwrite the results of a full run.
QUICK_RESULTS = RESULTS / "quick"


def main(arguments: list[str] | None = None) -> int:
    """Run the requested rows, and return the exit status."""
    options = _parser().parse_args(arguments)
    try:
        rows = chosen(options.only)
    except LookupError as error:
        print(f"bench: no row begins with `{error.args[0]}`; --list names them", file=sys.stderr)
        return 2
    if options.list:
        for row in rows:
            print(f"{row.name:24} {row.title}")
        return 0
    effort = Effort.QUICK if options.quick else Effort.FULL
    results = options.results or effort.of(RESULTS, QUICK_RESULTS)
    try:
        prepare(results)
    except OSError as error:
        message = f"cannot write to `{results}`: {_reason(error)}; name a directory with --results"
        print(f"bench: {message}", file=sys.stderr)
        return 2
    try:
        return _run(rows, effort, results, as_json=options.json)
    except KeyboardInterrupt:  # interrupted again, while it printed the results
        return _INTERRUPTED


def _run(rows: tuple[Row, ...], effort: Effort, results: Path, *, as_json: bool) -> int:
    # With --json the standard output is JSON and nothing else.
    console = Console(stderr=as_json, highlight=False)
    if not console.is_terminal:
        console.width = _WIDTH_OF_FILES
    tables.show_absent(console)
    run = _measured(rows, effort, console)
    if run.interrupted and not run.outcomes:
        console.print("\ninterrupted before a row was measured: nothing is written")
        return _INTERRUPTED
    write(results, run)
    try:
        _draw(results, console)
    except KeyboardInterrupt:  # the rows are worth showing anyway
        console.print("\n[yellow]no charts:[/yellow] interrupted")
        run = replace(run, interrupted=True)
    if as_json:
        print(json.dumps(latest(run.outcomes), indent=2, ensure_ascii=False))
    _conclude(results, run, len(rows), console)
    if run.interrupted:
        return _INTERRUPTED
    return 1 if any(outcome.samples is None for outcome in run.outcomes) else 0


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench", description="Caps and its peers, in turn; only ratios count."
    )
    parser.add_argument("--quick", action="store_true", help="fewer samples: under a minute")
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="ROW",
        help="only rows whose name begins so; may be repeated",
    )
    parser.add_argument(
        "--list", action="store_true", help="name the rows, or those of --only, and stop"
    )
    parser.add_argument("--json", action="store_true", help=f"print what goes into {LATEST}")
    parser.add_argument(
        "--results",
        type=Path,
        metavar="DIR",
        help="where files and charts go; otherwise bench/results, of a quick run its `quick`",
    )
    return parser


def _measured(rows: tuple[Row, ...], effort: Effort, console: Console) -> Run:
    """All rows, or those that were measured before an interrupt."""
    outcomes: list[Outcome] = []
    load = os.getloadavg()
    try:
        whole = anyio.run(_measure, rows, effort, console, outcomes)
    except KeyboardInterrupt:
        whole = False
    return Run(
        outcomes=tuple(outcomes),
        effort=effort,
        load_at_start=load,
        load_at_end=os.getloadavg(),
        interrupted=not whole,
    )


async def _measure(
    rows: tuple[Row, ...], effort: Effort, console: Console, outcomes: list[Outcome]
) -> bool:
    """Measure the rows one after another into `outcomes`; False if interrupted."""
    with _progress() as bar:
        everything = bar.add_task("all rows", total=len(rows))
        for row in rows:
            outcome = await _outcome(row, effort, bar)
            if is_interrupted():
                return False
            outcomes.append(outcome)
            bar.advance(everything)
            tables.show(console, outcome)
    return True


async def _outcome(row: Row, effort: Effort, bar: Progress) -> Outcome:
    task = bar.add_task(row.name, total=None)
    began = time.monotonic()
    try:
        samples = await row.measure(
            effort, lambda done, total: bar.update(task, completed=done, total=total)
        )
    except Exception as error:  # noqa: BLE001 - the other rows are still useful; the exit status reports it
        if not is_interrupted():
            traceback.print_exc()
        failure = f"{type(error).__name__}: {error}"
        return Outcome(row=row, samples=None, seconds=_since(began), failure=failure, effort=effort)
    finally:
        bar.remove_task(task)
    return Outcome(row=row, samples=samples, seconds=_since(began), effort=effort)


def _since(began: float) -> float:
    return time.monotonic() - began


@contextmanager
def _progress() -> Iterator[Progress]:
    """A progress bar on a terminal; nothing elsewhere."""
    columns = (
        TextColumn("{task.description:24}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
    )
    console = Console(stderr=True)
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        yield bar


def _draw(directory: Path, console: Console) -> None:
    try:
        from bench.charts import draw_all
    except ModuleNotFoundError as error:
        missing = str(error.name).partition(".")[0]
        console.print(f"\n[yellow]no charts:[/yellow] {missing} is not installed; this brings it:")
        console.print(f"  {escape(installing('bench'))}", soft_wrap=True)
        return
    drawn = draw_all(directory)
    if drawn:
        console.print(f"\ncharts: {', '.join(drawn)} in {directory}")


def _conclude(directory: Path, run: Run, rows: int, console: Console) -> None:
    tables.summary(console, run)
    if run.interrupted:
        console.print(f"[yellow]interrupted:[/yellow] {len(run.outcomes)} of {rows} rows")
    console.print(f"{tables.count(run)}; figures in {directory / LATEST}", soft_wrap=True)


if __name__ == "__main__":
    sys.exit(main())
