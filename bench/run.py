"""The command: choose rows, run them one after another, print, write files and charts.

python -m bench [--quick] [--only ROW]... [--list] [--json] [--results DIR]

It ends with 0 whether goals are met or not, as times belong to the machine; with 1 if a row could
not be measured on our side; with 2 if a row is asked for that does not exist.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from bench import tables
from bench.catalogue import ROWS, chosen
from bench.results import LATEST, Outcome, latest, missed, write
from bench.rows import Effort, Row

_WIDTH_OF_FILES = 120

RESULTS = Path(__file__).parent / "results"


def main(arguments: list[str] | None = None) -> int:
    """Run what is asked for; the exit status."""
    asked = _parser().parse_args(arguments)
    if asked.list:
        for row in ROWS:
            print(f"{row.name:24} {row.title}")
        return 0
    try:
        rows = chosen(asked.only)
    except LookupError as error:
        print(f"bench: no row begins with `{error.args[0]}`; --list names them", file=sys.stderr)
        return 2
    effort = Effort.QUICK if asked.quick else Effort.FULL
    # With --json the standard output is JSON and nothing else.
    console = Console(stderr=asked.json, highlight=False)
    if not console.is_terminal:
        console.width = _WIDTH_OF_FILES
    outcomes = anyio.run(_measured, rows, effort, console)
    write(asked.results, outcomes, effort)
    _draw(asked.results, console)
    if asked.json:
        print(json.dumps(latest(outcomes), indent=2, ensure_ascii=False))
    _conclude(asked.results, outcomes, console)
    return 1 if any(outcome.samples is None for outcome in outcomes) else 0


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
    parser.add_argument("--list", action="store_true", help="name the rows and stop")
    parser.add_argument("--json", action="store_true", help=f"print what goes into {LATEST}")
    parser.add_argument(
        "--results", type=Path, default=RESULTS, metavar="DIR", help="where files and charts go"
    )
    return parser


async def _measured(rows: tuple[Row, ...], effort: Effort, console: Console) -> list[Outcome]:
    outcomes = []
    with _progress() as bar:
        everything = bar.add_task("all rows", total=len(rows))
        for row in rows:
            outcome = await _outcome(row, effort, bar)
            outcomes.append(outcome)
            bar.advance(everything)
            tables.show(console, outcome)
    return outcomes


async def _outcome(row: Row, effort: Effort, bar: Progress) -> Outcome:
    task = bar.add_task(row.name, total=None)
    began = time.monotonic()
    try:
        samples = await row.measure(
            effort, lambda done, total: bar.update(task, completed=done, total=total)
        )
    except Exception as error:  # noqa: BLE001 - the other rows are worth having; the exit tells
        traceback.print_exc()
        failure = f"{type(error).__name__}: {error}"
        return Outcome(row=row, samples=None, seconds=_since(began), failure=failure)
    finally:
        bar.remove_task(task)
    return Outcome(row=row, samples=samples, seconds=_since(began))


def _since(began: float) -> float:
    return time.monotonic() - began


@contextmanager
def _progress() -> Iterator[Progress]:
    """A bar on a terminal, and nothing where there is none."""
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
        console.print(
            f"\n[yellow]no charts:[/yellow] {str(error.name).partition('.')[0]} is not installed; "
            "`pip install -e '.\\[bench]'` brings it"
        )
        return
    drawn = draw_all(directory)
    if drawn:
        console.print(f"\ncharts: {', '.join(drawn)} in {directory}")


def _conclude(directory: Path, outcomes: list[Outcome], console: Console) -> None:
    tables.summary(console, outcomes)
    console.print(f"\n{len(missed(outcomes))} goals missed; figures in {directory / LATEST}")


if __name__ == "__main__":
    sys.exit(main())
