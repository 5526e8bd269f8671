"""`caps approvals`: list the calls that wait for a person, and answer them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from caps.cli.exits import ExitCode, fail, report_errors
from caps.cli.options import approvals_option, json_option, principal_or_user
from caps.protocol.text import escape_unprintable

if TYPE_CHECKING:
    from caps.security.approvals.directory import ApprovalDirectory
    from caps.security.approvals.model import ApprovalAnswer, ApprovalRequest

_BY = click.option("--by", metavar="NAME", help="Who answers; by default the current user.")
_REASON = click.option("--reason", metavar="TEXT", help="Why; it is kept in the audit log.")


@click.group()
def approvals() -> None:
    """List the calls that wait for an approval, and allow or deny them."""


@approvals.command("list")
@approvals_option
@json_option
def list_(directory: Path | None, as_json: bool) -> None:
    """Print the waiting calls, oldest first."""
    found: list[ApprovalRequest] = []
    not_files: list[str] = []
    with report_errors():
        where = _directory(directory)
        if where.exists():
            with _open(where) as store:
                found = store.pending()
                not_files = store.odd_entries()
    for name in not_files:
        shown = escape_unprintable(name)
        click.echo(f"caps: `{shown}` in `{where}` is not a file, it is skipped", err=True)
    if as_json:
        click.echo(json.dumps([_as_object(request) for request in found]))
    elif not found:
        click.echo("nothing waits for an approval")
    else:
        _print_waiting(found)


@approvals.command()
@click.argument("approval_id", metavar="ID")
@approvals_option
@json_option
def show(approval_id: str, directory: Path | None, as_json: bool) -> None:
    """Print everything about one call; the start of its ID is enough."""
    with report_errors(), _open_for(approval_id, directory) as store:
        found = _as_object(store.find(approval_id))
    if as_json:
        click.echo(json.dumps(found))
        return
    for name, value in found.items():
        if value not in (None, ""):
            text = value if isinstance(value, str) else json.dumps(value)
            click.echo(f"{name}: {escape_unprintable(text)}")


@approvals.command()
@click.argument("approval_id", metavar="ID")
@click.option("--calls", type=int, metavar="N", help="Cover N calls of the capability.")
@click.option("--for", "span", metavar="SPAN", help="Cover its calls for 90s, 10m, 2h, ...")
@click.option(
    "--principal",
    "for_principal",
    is_flag=True,
    help="Cover the principal's calls in any execution under this policy; needs --for.",
)
@_BY
@_REASON
@approvals_option
def allow(
    approval_id: str,
    calls: int | None,
    span: str | None,
    for_principal: bool,
    by: str | None,
    reason: str | None,
    directory: Path | None,
) -> None:
    """Allow the call; by default only this one.

    With --calls and --for, later calls in the same execution or session are covered, too, until
    either is used up.
    """
    from caps.security.approvals.model import ApprovalAnswer, ApprovalScope, parse_duration

    try:
        answer = ApprovalAnswer(
            allowed=True,
            by=principal_or_user(by),
            reason=reason,
            calls=calls,
            seconds=None if span is None else parse_duration(span),
            reach=ApprovalScope.PRINCIPAL if for_principal else ApprovalScope.EXECUTION,
        )
    except ValueError as error:
        fail(str(error), ExitCode.BAD_USAGE)
    _answer(approval_id, answer, directory)


@approvals.command()
@click.argument("approval_id", metavar="ID")
@_BY
@_REASON
@approvals_option
def deny(approval_id: str, by: str | None, reason: str | None, directory: Path | None) -> None:
    """Refuse the call; the code gets a PolicyDeniedError."""
    from caps.security.approvals.model import ApprovalAnswer

    try:
        answer = ApprovalAnswer(allowed=False, by=principal_or_user(by), reason=reason)
    except ValueError as error:
        fail(str(error), ExitCode.BAD_USAGE)
    _answer(approval_id, answer, directory)


def _answer(approval_id: str, answer: ApprovalAnswer, directory: Path | None) -> None:
    with report_errors(), _open_for(approval_id, directory) as store:
        request = store.find(approval_id)
        store.answer(request.id, answer)
    verdict = "allowed" if answer.allowed else "denied"
    principal = escape_unprintable(request.principal)
    click.echo(f"{verdict}: {escape_unprintable(request.capability)} of `{principal}`")


def _open_for(approval_id: str, directory: Path | None) -> ApprovalDirectory:
    """The directory in which the approval waits; ends the command if there is none."""
    where = _directory(directory)
    if not where.exists():
        fail(
            f"no call waits for an approval `{escape_unprintable(approval_id[:40])}`; "
            f"none was ever asked for in `{where}`",
            ExitCode.BAD_USAGE,
        )
    return _open(where)


def _open(directory: Path) -> ApprovalDirectory:
    from caps.security.approvals.directory import ApprovalDirectory

    return ApprovalDirectory.open(directory)


def _directory(given: Path | None) -> Path:
    from caps.security.approvals.directory import default_approvals_directory

    return given or default_approvals_directory()


def _as_object(request: ApprovalRequest) -> dict[str, Any]:
    import msgspec

    found: dict[str, Any] = msgspec.to_builtins(request)
    return found


def _print_waiting(found: list[ApprovalRequest]) -> None:
    """Two lines for each request. Nothing is cut off: a person decides by what is shown."""
    from caps.cli.render.tables import format_arguments

    for request in found:
        arguments = format_arguments(request.shown, request.hidden)
        click.echo(escape_unprintable(f"{request.id[:12]}  {request.capability}({arguments})"))
        agent = f", agent {request.agent}" if request.agent else ""
        times = f"asked {request.asked_at[11:19]}, until {request.expires_at[11:19]}"
        click.echo(escape_unprintable(f"  principal {request.principal}{agent}, {times}"))
