"""Audit records as a table for a person.

Everything in a record may come from hostile code, so no string reaches the terminal unchanged.
Markup is never parsed (cells are `Text`). Characters that are not printable, such as those of
escape sequences and bidirectional overrides, are shown as their escapes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from caps.protocol.text import escape_unprintable
from caps.security.audit import (
    AdminAction,
    ApprovalOutcome,
    ApprovalRequested,
    ApprovalSettled,
    ArtifactRecord,
    AuditEvent,
    AuditRecord,
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
    SegmentClosed,
    SegmentOpened,
    SinkFailed,
    SinkRecovered,
)
from caps.security.audit.model.redaction import DIGEST_PREFIX
from caps.security.review.plurals import plural

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
# The number of records that are held to fit the column widths; a longer log is not held.
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


def audit_table(
    records: Iterable[AuditRecord], *, of_one_execution: bool = False
) -> ConsoleRenderable:
    """All records, oldest first; without the id of the execution if there is only one.

    One row for each record, or a few lines where the console is too narrow for a table.
    """
    from caps.cli.render.narrow_records import NarrowRecords

    return NarrowRecords(tuple(records), of_one_execution=of_one_execution)


def wide_table(records: Iterable[AuditRecord], *, of_one_execution: bool) -> Table:
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
    """One row for each decision that changes, or may change."""
    from rich.table import Table
    from rich.text import Text

    table = Table(show_edge=False, pad_edge=False)
    for heading in ("record", "time", "execution", "what", "change", "why"):
        table.add_column(heading, overflow="fold", no_wrap=heading in ("record", "time", "change"))
    for one in decisions:
        observed = one.observed
        what = f"{observed.capability}({format_arguments(observed.shown, observed.hidden)})"
        table.add_row(
            Text(str(observed.seq)),
            Text(escape_unprintable(short_time(observed.ts))),
            Text(escape_unprintable(observed.execution_id[:SHORT_ID])),
            Text(escape_unprintable(what)),
            Text(one.turn.value, style=_BAD if one.answer.allowed else _PLAIN),
            Text(escape_unprintable(f"{one.answer.why} (was {observed.reason})")),
        )
    return table


def print_records(records: Iterable[AuditRecord]) -> None:
    """Print a table that fits its content; for a long log plain lines, so that it need not be held.

    A narrow terminal would break such lines anywhere, so it gets one table for each page.
    """
    from caps.cli.render.console import Console
    from caps.cli.render.narrow_records import MIN_TABLE_WIDTH

    console = Console()
    remaining = iter(records)
    page = list(itertools.islice(remaining, _PAGE))
    if len(page) < _PAGE or (console.is_terminal and console.width < MIN_TABLE_WIDTH):
        console.print(audit_table(page))
        while page := list(itertools.islice(remaining, _PAGE)):
            console.print(audit_table(page))
        return
    click.echo(LINE_HEADER)
    for record in itertools.chain(page, remaining):
        click.echo(record_line(record))


def record_line(record: AuditRecord) -> str:
    """A record as one line, with the columns of fixed width first."""
    row = row_of(record.event)
    verdict = escape_unprintable(row.verdict).ljust(_VERDICT_WIDTH)
    execution = escape_unprintable(getattr(record.event, "execution_id", ""))[:SHORT_ID].ljust(
        SHORT_ID
    )
    return _COLUMNS.format(
        escape_unprintable(short_time(record.ts)),
        execution,
        click.style(verdict, fg=row.style) if row.style else verdict,
        f"{escape_unprintable(row.what)}  {escape_unprintable(row.why)}",
    )


def _cells(record: AuditRecord) -> list[Text]:
    from rich.text import Text

    row = row_of(record.event)
    return [
        Text(escape_unprintable(short_time(record.ts))),
        Text(escape_unprintable(getattr(record.event, "execution_id", "")[:SHORT_ID])),
        Text(escape_unprintable(row.what)),
        Text(escape_unprintable(row.verdict), style=row.style),
        Text(escape_unprintable(row.why)),
    ]


def short_time(timestamp: str) -> str:
    """Month, day and time to the millisecond; the JSON form has all of it."""
    return timestamp[5:23].replace("T", " ")


def row_of(event: AuditEvent) -> Row:
    match event:
        case DecisionMade():
            style = _GOOD if event.decision == "allow" else _BAD
            what = f"{event.capability}({_arguments(event)})"
            return Row(what, event.decision, style, _why_decided(event))
        case OutcomeRecorded():
            style = _GOOD if event.status is CallStatus.OK else _BAD
            handed_out = [_artifact(one) for one in event.artifacts]
            why = _joined(
                event.reason, _error(event.detail), *handed_out, f"{event.duration_us} µs"
            )
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


def _artifact(record: ArtifactRecord) -> str:
    return f"{record.name} ({record.media_type}, {record.size} bytes, sha256 {record.sha256[:12]}…)"


def _upkeep_row(
    event: AdminAction | SegmentClosed | SegmentOpened | KeyRotated | SinkFailed | SinkRecovered,
) -> Row:
    """The row of a record about administration, or the log's own files, keys and sinks."""
    match event:
        case AdminAction():
            style = {"done": _GOOD, "failed": _BAD}.get(event.status, _PLAIN)
            why = _joined(f"`{event.subject}`", f"by `{event.principal}`", event.message)
            return Row(event.action.replace("_", " "), event.status, style, why)
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
    """The row of a record about what people did while the code ran."""
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
            calls = plural(event.calls, "call") if event.calls else None
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
    why = _joined(event.error_code, _error(event.error_message), plural(event.calls, "call"))
    return Row("execution ended", event.status.value, style, why)


def _arguments(event: DecisionMade | ApprovalRequested) -> str:
    return format_arguments(event.shown, event.hidden)


def format_arguments(shown: Mapping[str, object], hidden: Iterable[str]) -> str:
    """The arguments of a call that may be shown, and the names of the others."""
    readable = [f"{name}={value!r}" for name, value in shown.items()]
    return ", ".join([*readable, *(f"{name}=<hidden>" for name in sorted(hidden))])


def _error(text: str | None) -> str | None:
    """The class of an error; its text is hidden, and the JSON form has the digest."""
    kind, found, _ = (text or "").partition(f": {DIGEST_PREFIX}")
    return f"{kind}: <hidden>" if found else text


def _joined(*parts: str | None) -> str:
    return "; ".join(part for part in parts if part)
