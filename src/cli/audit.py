"""`caps audit`: read the evidence, and check that it is what was written."""

from __future__ import annotations

import json
import sys
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from caps.cli.exits import told_in_one_line
from caps.cli.options import json_option

if TYPE_CHECKING:
    from caps.security.audit import Record, VerifyReport, VerifyStatus

_DIRECTORY = click.option(
    "--audit",
    "directory",
    type=click.Path(path_type=Path),
    envvar="CAPS_AUDIT_PATH",
    show_envvar=True,
    help="Directory of the log; by default the one in the user's state directory.",
)

# By the value of the status; a status without a code here counts as unreadable.
EXIT_CODES: Final = {
    "ok": 0,
    "edited": 10,
    "gap": 11,
    "reordered": 12,
    "truncated": 13,
    "checkpoint_bad": 14,
    "torn_tail": 15,
    "unreadable": 16,
    "empty": 16,
}


@click.group()
def audit() -> None:
    """Read the audit log, and verify it."""


@audit.command()
@_DIRECTORY
@json_option
@click.option("--execution", metavar="ID", help="Only this execution; the start of its id will do.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the last N records.")
def show(directory: Path | None, as_json: bool, execution: str | None, limit: int | None) -> None:
    """Print the records, oldest first."""
    with told_in_one_line():
        records = _selected(_directory(directory), execution)
        chosen = records if limit is None else iter(deque(records, maxlen=limit))
        if as_json:
            _print_json(chosen)
        else:
            _print_table(chosen)


@audit.command()
@_DIRECTORY
@json_option
@click.option(
    "--public-key",
    type=click.Path(path_type=Path),
    help="A trusted copy of `signing.pub`; by default the directory's own is believed.",
)
def verify(directory: Path | None, as_json: bool, public_key: Path | None) -> None:
    """Check the chain and its checkpoints.

    Exit code: 0 sound, 10 edited, 11 gap, 12 reordered, 13 truncated, 14 bad checkpoint, 15 torn
    tail (a crash, not an attack), 16 unreadable or empty.
    """
    from caps.security.audit import verify_log

    report = verify_log(_directory(directory), public_key=public_key)
    if as_json:
        click.echo(json.dumps(_as_object(report)))
    else:
        _print_finding(report)
    sys.exit(exit_code(report.status))


def exit_code(status: VerifyStatus) -> int:
    """What `caps audit verify` exits with for this finding."""
    return EXIT_CODES.get(status.value, EXIT_CODES["unreadable"])


def _directory(given: Path | None) -> Path:
    from caps.security.audit import default_audit_directory

    return given or default_audit_directory()


def _selected(directory: Path, execution: str | None) -> Iterator[Record]:
    from caps.security.audit import read_records

    for record in read_records(directory):
        if execution is None or getattr(record.event, "execution_id", "").startswith(execution):
            yield record


def _print_json(records: Iterator[Record]) -> None:
    from caps.security.audit.chain import record_fields

    for record in records:
        # In ASCII, since a terminal may obey control characters that JSON does not escape.
        line = json.dumps(record_fields(record), sort_keys=True, separators=(",", ":"))
        click.echo(line)


def _print_table(records: Iterator[Record]) -> None:
    from rich.console import Console

    from caps.cli.tables import audit_table

    Console().print(audit_table(records))


def _print_finding(report: VerifyReport) -> None:
    from caps.cli.tables import visible

    sound = report.status.value == "ok"
    label = click.style(report.status.value.replace("_", " "), fg="green" if sound else "red")
    click.echo(f"{label}: {visible(report.message)}", err=not sound)


def _as_object(report: VerifyReport) -> dict[str, str | int | None]:
    return {
        "status": report.status.value,
        "message": report.message,
        "records": report.records,
        "head_seq": report.head_seq,
        "head_hash": report.head_hash,
        "checkpoints": report.checkpoints,
        "bad_seq": report.bad_seq,
        "bad_line": report.bad_line,
    }
