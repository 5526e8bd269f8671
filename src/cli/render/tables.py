"""Audit records as a table that a person can read.

Everything in a record may stem from hostile code, so no text reaches the terminal as it is: markup
is never parsed (cells are `Text`), and what is not printable, escape sequences and bidirectional
overrides among it, is shown as its escape.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from caps.security.audit import (
    ApprovalOutcome,
    ApprovalRequested,
    ApprovalSettled,
    AuditEvent,
    CallStatus,
    DecisionMade,
    ExecutionEnded,
    ExecutionStarted,
    ExecutionStatus,
    GrantRevoked,
    KeyRotated,
    LimitReached,
    LogOpened,
    LogRecovered,
    OutcomeRecorded,
    PolicyLoaded,
    ProtocolViolated,
    Record,
    SegmentClosed,
    SegmentOpened,
    SinkFailed,
    SinkRecovered,
)
from caps.security.review.plurals import counted

if TYPE_CHECKING:
    from rich.console import ConsoleRenderable
    from rich.table import Table
    from rich.text import Text

    from caps.security.review.replay import Replayed

_GOOD: Final = "green"
_BAD: Final = "red"
_PLAIN: Final = ""
SHORT_ID: Final = 12

_HEADINGS: Final = ("time", "execution", "what", "verdict", "why")
# So many records are held to find out how wide their columns must be; a longer log is not.
_PAGE: Final = 500

_VERDICT_WIDTH: Final = len("protocol_violation")
_COLUMNS: Final = "{:18}  {}  {}  {}"
LINE_HEADER: Final = _COLUMNS.format(
    "time", "execution".ljust(SHORT_ID), "verdict".ljust(_VERDICT_WIDTH), "what and why"
)


class Row(NamedTuple):
    what: str
    verdict: str
    style: str
    why: str


def audit_table(records: Iterable[Record], *, of_one_execution: bool = False) -> ConsoleRenderable:
    """All records, oldest first; of one execution, its id is not repeated.

    A row for each, or a few lines where the console is too narrow for a table.
    """
    from caps.cli.render.narrow_records import FittingRecords

    return FittingRecords(tuple(records), of_one_execution=of_one_execution)


def wide_table(records: Iterable[Record], *, of_one_execution: bool) -> Table:
    """One row for each record."""
    from rich.table import Table

    table = Table(show_edge=False, pad_edge=False)
    for heading in _HEADINGS:
        if not (of_one_execution and heading == "execution"):
            fixed = heading in ("time", "execution", "verdict")
            table.add_column(heading, overflow="fold", no_wrap=fixed)
    for record in records:
        cells = _cells(record)
        if of_one_execution:
            del cells[1]
        table.add_row(*cells)
    return table


def replay_table(decisions: Iterable[Replayed]) -> Table:
    """One row for each decision that turns, or may."""
    from rich.table import Table
    from rich.text import Text

    table = Table(show_edge=False, pad_edge=False)
    for heading in ("record", "time", "execution", "what", "turn", "why"):
        table.add_column(heading, overflow="fold", no_wrap=heading in ("record", "time", "turn"))
    for one in decisions:
        observed = one.observed
        what = f"{observed.capability}({spelled_arguments(observed.shown, observed.hidden)})"
        table.add_row(
            Text(str(observed.seq)),
            Text(visible(short_time(observed.ts))),
            Text(visible(observed.execution_id[:SHORT_ID])),
            Text(visible(what)),
            Text(one.turn.value, style=_BAD if one.answer.allowed else _PLAIN),
            Text(visible(f"{one.answer.why} (was {observed.reason})")),
        )
    return table


def print_records(records: Iterable[Record]) -> None:
    """A table that fits its content; of a long log, plain lines, so that it need not be held.

    A narrow terminal, which would break such lines anywhere, has them page by page.
    """
    from rich.console import Console

    from caps.cli.render.narrow_records import LEAST_TABLE_WIDTH

    console = Console()
    remaining = iter(records)
    page = list(itertools.islice(remaining, _PAGE))
    if len(page) < _PAGE or (console.is_terminal and console.width < LEAST_TABLE_WIDTH):
        console.print(audit_table(page))
        while page := list(itertools.islice(remaining, _PAGE)):
            console.print(audit_table(page))
        return
    click.echo(LINE_HEADER)
    for record in itertools.chain(page, remaining):
        click.echo(record_line(record))


def record_line(record: Record) -> str:
    """A record as one line, with the columns that have a width first."""
    row = row_of(record.event)
    verdict = visible(row.verdict).ljust(_VERDICT_WIDTH)
    execution = visible(getattr(record.event, "execution_id", ""))[:SHORT_ID].ljust(SHORT_ID)
    return _COLUMNS.format(
        visible(short_time(record.ts)),
        execution,
        click.style(verdict, fg=row.style) if row.style else verdict,
        f"{visible(row.what)}  {visible(row.why)}",
    )


def _cells(record: Record) -> list[Text]:
    from rich.text import Text

    row = row_of(record.event)
    return [
        Text(visible(short_time(record.ts))),
        Text(visible(getattr(record.event, "execution_id", "")[:SHORT_ID])),
        Text(visible(row.what)),
        Text(visible(row.verdict), style=row.style),
        Text(visible(row.why)),
    ]


def short_time(timestamp: str) -> str:
    """Month, day and time to the millisecond; the JSON form has all of it."""
    return timestamp[5:23].replace("T", " ")


def visible(value: str) -> str:
    """`value` with every character that is not printable as its escape."""
    if value.isprintable():
        return value
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
        for char in value
    )


def row_of(event: AuditEvent) -> Row:
    match event:
        case DecisionMade():
            style = _GOOD if event.decision == "allow" else _BAD
            what = f"{event.capability}({_arguments(event)})"
            return Row(what, event.decision, style, _why_decided(event))
        case OutcomeRecorded():
            style = _GOOD if event.status is CallStatus.OK else _BAD
            why = _joined(event.reason, event.detail, f"{event.duration_us} µs")
            return Row(f"  … {event.capability}", event.status.value, style, why)
        case ExecutionStarted() | ExecutionEnded():
            return _execution_row(event)
        case ProtocolViolated():
            return Row("protocol", "violated", _BAD, _joined(event.violation, event.message))
        case LimitReached():
            return Row("limit", "reached", _BAD, _joined(event.limit, event.message))
        case GrantRevoked() | ApprovalRequested() | ApprovalSettled():
            return _live_row(event)
        case PolicyLoaded():
            style = _GOOD if event.status == "accepted" else _BAD
            why = _joined(event.policy_id, event.source, event.message)
            return Row("policy", event.status, style, why)
        case LogOpened():
            return Row("log", "opened", _PLAIN, event.host_software)
        case LogRecovered():
            return Row("log", "recovered", _PLAIN, f"dropped {event.dropped_bytes} bytes")
        case _:
            return _upkeep_row(event)


def _upkeep_row(
    event: SegmentClosed | SegmentOpened | KeyRotated | SinkFailed | SinkRecovered,
) -> Row:
    """What the log says of its own files, keys and sinks."""
    match event:
        case SegmentClosed():
            return Row("log file", "closed", _PLAIN, f"for its {event.reason}")
        case SegmentOpened():
            why = f"continues `{event.previous}` after record {event.previous_seq}"
            return Row(f"log file {event.segment}", "opened", _PLAIN, why)
        case KeyRotated():
            why = f"`{event.new_key_id}` signs instead of `{event.old_key_id}`"
            return Row("signing key", "rotated", _PLAIN, why)
        case SinkFailed():
            return Row(f"{event.mode} sink {event.sink}", "failed", _BAD, event.message)
        case SinkRecovered():
            why = f"dropped {event.dropped}, sent again {event.resent}"
            return Row(f"{event.mode} sink {event.sink}", "recovered", _GOOD, why)


def _why_decided(event: DecisionMade) -> str:
    if event.decision == "deny":
        return _joined(event.message, event.reason)
    approval = f"by approval `{event.approval[:SHORT_ID]}`" if event.approval else None
    tried = f"rule `{event.dry_run_rule}` in dry run denies it" if event.dry_run_rule else None
    return _joined(f"by rule `{event.rule}`", approval, tried)


def _live_row(event: GrantRevoked | ApprovalRequested | ApprovalSettled) -> Row:
    """What people did while the code ran."""
    by = f"by `{event.by}`" if not isinstance(event, ApprovalRequested) and event.by else None
    match event:
        case GrantRevoked():
            what = ", ".join(event.capabilities)
            return Row(what, "revoked", _BAD, _joined(by, event.note))
        case ApprovalRequested():
            what = f"{event.capability}({_arguments(event)})"
            why = f"waits for approval `{event.approval[:SHORT_ID]}` by rule `{event.rule}`"
            return Row(what, "waits", _PLAIN, why)
        case ApprovalSettled():
            style = _GOOD if event.outcome is ApprovalOutcome.GIVEN else _BAD
            calls = counted(event.calls, "call") if event.calls else None
            span = f"{event.seconds} s" if event.seconds else None
            what = f"approval `{event.approval[:SHORT_ID]}`"
            outcome = event.outcome.value.replace("_", " ")
            return Row(what, outcome, style, _joined(by, event.note, calls, span))


def _execution_row(event: ExecutionStarted | ExecutionEnded) -> Row:
    if isinstance(event, ExecutionStarted):
        why = f"policy `{event.policy_id}` for `{event.principal}`"
        learning = "learning what it asks for" if event.mode == "learn" else None
        granted = f"granted {', '.join(event.granted) or 'nothing'}"
        degraded = f"isolation degraded: {event.degraded}" if event.degraded else None
        style = _BAD if degraded else _PLAIN
        names = ", ".join(event.modules)
        real = f"real modules, for which no language layer vouches: {names}" if names else None
        return Row("execution", "started", style, _joined(degraded, why, granted, real, learning))
    style = _GOOD if event.status is ExecutionStatus.OK else _BAD
    why = _joined(event.error_code, event.error_message, counted(event.calls, "call"))
    return Row("execution ended", event.status.value, style, why)


def _arguments(event: DecisionMade | ApprovalRequested) -> str:
    return spelled_arguments(event.shown, event.hidden)


def spelled_arguments(shown: Mapping[str, object], hidden: Iterable[str]) -> str:
    """The arguments of a call as far as they may be shown, and the names of the others."""
    readable = [f"{name}={value!r}" for name, value in shown.items()]
    return ", ".join([*readable, *(f"{name}=<hidden>" for name in hidden)])


def _joined(*parts: str | None) -> str:
    return "; ".join(part for part in parts if part)
