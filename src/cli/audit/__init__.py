"""`caps audit`: read the log, count its records, follow it. `checks.py` has what verifies it."""

from __future__ import annotations

import json
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from caps.cli.audit.checks import (
    EXIT_CODES,
    PROOF_EXIT_CODES,
    digest,
    exit_code,
    export,
    prove,
    verify,
    verify_proof,
)
from caps.cli.audit.keys import rotate_key
from caps.cli.audit.options import (
    Filters,
    Form,
    audit_directory,
    directory_option,
    filter_options,
    form_options,
)
from caps.cli.exits import report_errors
from caps.cli.options import json_option
from caps.cli.remote.audit import remote_records
from caps.cli.remote.server import chosen_server, refuse_local_options, refuse_remote

if TYPE_CHECKING:
    from caps.security.audit import AuditRecord
    from caps.security.audit.query.filters import RecordFilter

__all__ = ["EXIT_CODES", "PROOF_EXIT_CODES", "audit", "exit_code"]

# How often `tail -f` polls: often enough for a person, and cheap for the machine.
POLL_SECONDS: Final = 0.25
# The most records that are kept in memory to print the last of them.
MAX_RECORDS: Final = 1_000_000


# Subcommands that work on a service; the others need the files of the log.
REMOTE: Final = frozenset({"query", "show", "stats", "tail", "verify"})


@click.group()
@click.pass_context
def audit(context: click.Context) -> None:
    """Read the audit log, and verify it."""
    if chosen_server() is not None and context.invoked_subcommand not in REMOTE:
        refuse_remote(f"`caps audit {context.invoked_subcommand}`")


for command in (verify, prove, verify_proof, digest, export, rotate_key):
    audit.add_command(command)

_limit = click.option(
    "--limit", type=click.IntRange(1, MAX_RECORDS), metavar="N", help="Only the last N records."
)


@audit.command()
@directory_option
@filter_options
@form_options
@_limit
def show(directory: Path | None, given: Filters, form: Form, limit: int | None) -> None:
    """Print the records, oldest first."""
    _print_selected(directory, given, form, limit)


@audit.command()
@directory_option
@filter_options
@form_options
@_limit
@click.option(
    "--value-hash",
    metavar="HMAC",
    help="Only calls that contain this value, given as `caps audit hash` prints it.",
)
def query(
    directory: Path | None, given: Filters, form: Form, limit: int | None, value_hash: str | None
) -> None:
    """Print the records that match; also by a value that the log has only as a digest."""
    _print_selected(directory, {**given, "value_hash": value_hash}, form, limit)


@audit.command()
@directory_option
@filter_options
@form_options
@click.option("-f", "--follow", "following", is_flag=True, help="Wait for more; Ctrl-C ends it.")
@click.option(
    "-n",
    "--lines",
    type=click.IntRange(0, MAX_RECORDS),
    default=10,
    show_default=True,
    metavar="N",
    help="How many of the existing records are printed first.",
)
def tail(directory: Path | None, given: Filters, form: Form, following: bool, lines: int) -> None:
    """Print the last records, and with -f new ones as they come, of all writers and new files."""
    if not following:
        _print_selected(directory, given, form, lines)
        return
    if chosen_server() is not None:
        refuse_remote("`caps audit tail -f`")
    from caps.cli.audit.options import build_filter
    from caps.cli.audit.output import printer

    with report_errors():
        record_filter, show_records = build_filter(given), printer(form, one_by_one=True)
        try:
            _follow(audit_directory(directory), record_filter, show_records, lines)
        except KeyboardInterrupt:
            sys.exit(0)  # Ctrl-C is how it ends, not a failure


@audit.command()
@directory_option
@filter_options
@json_option
@click.option(
    "--top",
    type=click.IntRange(1, MAX_RECORDS),
    default=10,
    show_default=True,
    metavar="N",
    help="How many refused capabilities are listed, and how many callers of each.",
)
def stats(directory: Path | None, given: Filters, as_json: bool, top: int) -> None:
    """Count decisions, reasons and outcomes, and list the most frequent refusals."""
    from caps.security.audit.query.stats import AuditStats

    with report_errors():
        counted = AuditStats.of(_selected(directory, given))
    if as_json:
        click.echo(json.dumps(counted.as_json(top)))
        return
    from caps.cli.audit.output import print_stats

    print_stats(counted, top)


def _print_selected(directory: Path | None, given: Filters, form: Form, limit: int | None) -> None:
    from caps.cli.audit.output import printer

    with report_errors():
        records = _selected(directory, given)
        printer(form)(records if limit is None else iter(deque(records, maxlen=limit)))


def _selected(directory: Path | None, given: Filters) -> Iterator[AuditRecord]:
    from caps.cli.audit.options import build_filter
    from caps.security.audit import read_records

    server = chosen_server()
    if server is not None:
        refuse_local_options("directory")
        return remote_records(server, given)
    return filter(build_filter(given).matches, read_records(audit_directory(directory)))


def _follow(
    directory: Path,
    record_filter: RecordFilter,
    show_records: Callable[[Iterable[AuditRecord]], None],
    lines: int,
) -> None:
    from caps.security.audit.query.follow import follow

    recent: deque[AuditRecord] = deque(maxlen=lines)
    live: list[bool] = []

    def caught_up() -> None:
        show_records(recent)
        live.append(True)

    for record in follow(directory, lambda: time.sleep(POLL_SECONDS), caught_up):
        if not record_filter.matches(record):
            continue
        if live:
            show_records((record,))
        else:
            recent.append(record)
