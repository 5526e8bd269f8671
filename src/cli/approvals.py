"""`caps approvals`: what waits for a person, and the answers to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from caps.cli.exits import ExitCode, fail, told_in_one_line
from caps.cli.options import approvals_option, json_option

if TYPE_CHECKING:
    from caps.security.approvals.model import ApprovalAnswer, ApprovalRequest
    from caps.security.approvals.directory import ApprovalStore

_BY = click.option("--by", metavar="NAME", help="Who answers; by default the current user.")
_REASON = click.option("--reason", metavar="TEXT", help="Why; it is kept in the audit log.")


@click.group()
def approvals() -> None:
    """List the calls that wait for an approval, and allow or deny them."""


@approvals.command("list")
@approvals_option
@json_option
def list_(directory: Path | None, as_json: bool) -> None:
    """Print what waits, oldest first."""
    from caps.cli.render.tables import visible

    found: list[ApprovalRequest] = []
    odd: list[str] = []
    with told_in_one_line():
        where = _directory(directory)
        if where.exists():
            with _opened(where) as store:
                found = store.pending()
                odd = store.odd_entries()
    for name in odd:
        click.echo(f"caps: `{visible(name)}` in `{where}` is no file, it is skipped", err=True)
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
    """Print all that is known of one; the start of its ID will do."""
    from caps.cli.render.tables import visible

    with told_in_one_line(), _holding(approval_id, directory) as store:
        found = _as_object(store.find(approval_id))
    if as_json:
        click.echo(json.dumps(found))
        return
    for name, value in found.items():
        if value not in (None, ""):
            text = value if isinstance(value, str) else json.dumps(value)
            click.echo(f"{name}: {visible(text)}")


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
    """Let the call go on; by default this one call and no other.

    With --calls and --for, what follows in the same execution or session is covered, too, until
    either is used up.
    """
    from caps.security.approvals.model import ApprovalAnswer, Reach, parse_span

    try:
        answer = ApprovalAnswer(
            allowed=True,
            by=by or _current_user(),
            reason=reason,
            calls=calls,
            seconds=None if span is None else parse_span(span),
            reach=Reach.PRINCIPAL if for_principal else Reach.EXECUTION,
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
    """Refuse the call; the code meets a PolicyDeniedError."""
    from caps.security.approvals.model import ApprovalAnswer

    try:
        answer = ApprovalAnswer(allowed=False, by=by or _current_user(), reason=reason)
    except ValueError as error:
        fail(str(error), ExitCode.BAD_USAGE)
    _answer(approval_id, answer, directory)


def _answer(approval_id: str, answer: ApprovalAnswer, directory: Path | None) -> None:
    from caps.cli.render.tables import visible

    with told_in_one_line(), _holding(approval_id, directory) as store:
        request = store.find(approval_id)
        store.answer(request.id, answer)
    verdict = "allowed" if answer.allowed else "denied"
    click.echo(f"{verdict}: {visible(request.capability)} of `{visible(request.principal)}`")


def _holding(approval_id: str, directory: Path | None) -> ApprovalStore:
    """Where the approval waits, if anything ever did."""
    from caps.cli.render.tables import visible

    where = _directory(directory)
    if not where.exists():
        fail(
            f"no call waits for an approval `{visible(approval_id[:40])}`; "
            f"none was ever asked for in `{where}`",
            ExitCode.BAD_USAGE,
        )
    return _opened(where)


def _opened(directory: Path) -> ApprovalStore:
    from caps.security.approvals.directory import ApprovalStore

    return ApprovalStore.open(directory)


def _directory(given: Path | None) -> Path:
    from caps.security.approvals.directory import default_approvals_directory

    return given or default_approvals_directory()


def _current_user() -> str:
    from caps.cli.run import current_user

    return f"user:{current_user()}"


def _as_object(request: ApprovalRequest) -> dict[str, Any]:
    import msgspec

    found: dict[str, Any] = msgspec.to_builtins(request)
    return found


def _print_waiting(found: list[ApprovalRequest]) -> None:
    """Two lines for each: nothing of a call may be cut off where somebody decides about it."""
    from caps.cli.render.tables import spelled_arguments, visible

    for request in found:
        arguments = spelled_arguments(request.shown, request.hidden)
        click.echo(visible(f"{request.id[:12]}  {request.capability}({arguments})"))
        agent = f", agent {request.agent}" if request.agent else ""
        times = f"asked {request.asked_at[11:19]}, until {request.expires_at[11:19]}"
        click.echo(visible(f"  principal {request.principal}{agent}, {times}"))
