"""Prints records for a person or for another program, as a table, lines, JSON or CSV.

Strings in a record may come from hostile code. A table and CSV show a character that is not
printable as its escape, and JSON is in ASCII. A CSV cell that a spreadsheet would take for a
formula gets a quote in front. However long a log is, only a few of its records are held at a time.
"""

from __future__ import annotations

import csv
import functools
import io
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import click

from caps.cli.audit.options import Form
from caps.cli.exits import ExitCode, fail
from caps.cli.render.tables import LINE_HEADER, print_records, record_line
from caps.protocol.text import escape_unprintable
from caps.security.audit import AuditRecord
from caps.security.audit.model.chain import record_fields
from caps.security.audit.query.stats import AuditStats
from caps.security.review.plurals import plural, times

Printer = Callable[[Iterable[AuditRecord]], None]

CSV_COLUMNS: Final = (
    "seq ts kind execution_id principal agent session capability request_id decision reason rule "
    "status message policy_id policy_sha256 duration_us bytes_out shown approval outcome "
    "capabilities by note hash".split()
)
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def printer(form: Form, *, one_by_one: bool = False) -> Printer:
    """The function that prints records in this form; `one_by_one`: it can be called again."""
    if form is Form.JSON:
        return _print_json
    if form is Form.CSV:
        click.echo(csv_line(CSV_COLUMNS))
        return _print_csv
    return _line_printer() if one_by_one else print_records


def as_line(fields: Mapping[str, Any]) -> str:
    """An object on one line, in ASCII: a terminal may obey characters that JSON need not escape."""
    return json.dumps(fields, sort_keys=True, separators=(",", ":"))


def csv_line(cells: Iterable[object]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="").writerow(_cell(cell) for cell in cells)
    return buffer.getvalue()


def _print_json(records: Iterable[AuditRecord]) -> None:
    for record in records:
        click.echo(as_line(record_fields(record)))


def _print_csv(records: Iterable[AuditRecord]) -> None:
    for record in records:
        fields = record_fields(record)
        click.echo(csv_line(fields.get(name) for name in CSV_COLUMNS))


def _cell(value: object) -> str:
    match value:
        case None:
            return ""
        case str():
            text = escape_unprintable(value)
            return f"'{text}" if text.startswith(_FORMULA) else text
        case int():
            return str(value)
        case _:
            return json.dumps(value, sort_keys=True)


def _line_printer() -> Printer:
    click.echo(LINE_HEADER)

    def print_lines(records: Iterable[AuditRecord]) -> None:
        for record in records:
            click.echo(record_line(record))

    return print_lines


def print_stats(stats: AuditStats, top: int) -> None:
    """The totals as a few short tables."""
    span = f", {stats.first_ts} to {stats.last_ts}" if stats.first_ts else ""
    click.echo(f"{plural(stats.records, 'record')}{span}")
    reasons = (
        (f"{decision}: {reason}", n) for (decision, reason), n in stats.reasons.most_common()
    )
    _print_counts("decisions", stats.decisions.most_common())
    _print_counts("reasons", reasons)
    _print_counts("calls by outcome", stats.calls.most_common())
    _print_counts("executions by status", stats.executions.most_common())
    _print_counts("limits reached", stats.limits.most_common())
    for item in stats.refused(top):
        reasons_of = ", ".join(f"{reason} {count}" for reason, count in item.reasons)
        title = f"refused: {item.capability}, {times(item.count)} ({reasons_of})"
        callers = (
            (caller.principal + (f" by {caller.agent}" if caller.agent else ""), count)
            for caller, count in item.callers
        )
        _print_counts(title, callers)


def _print_counts(title: str, counts: Iterable[tuple[str, int]]) -> None:
    rows = list(counts)
    if rows:
        click.echo(f"\n{escape_unprintable(title)}")
        for name, count in rows:
            click.echo(f"  {count:>8}  {escape_unprintable(name)}")


@contextmanager
def output_file(path: Path | None) -> Iterator[Callable[[str], None]]:
    """A function that writes lines to `path`, or to standard output.

    A file appears complete or not at all. Only its owner can read it, as with the log.
    """
    if path is None:
        yield click.echo
        return
    try:
        fd, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        fail(f"cannot write `{path}`: {error.strerror}", ExitCode.BAD_USAGE)
    try:
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            yield functools.partial(print, file=file)
        Path(draft).replace(path)
    except OSError as error:
        fail(f"cannot write `{path}`: {error.strerror}", ExitCode.HOST_FAILED)
    finally:
        Path(draft).unlink(missing_ok=True)
