"""`caps run`: run a file under a policy, and show what came of it."""

from __future__ import annotations

import getpass
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from caps.cli.exits import ExitCode, fail, told_in_one_line
from caps.cli.gc_pause import loading
from caps.cli.options import (
    approvals_option,
    audit_settings,
    audit_sink_option,
    json_option,
    load_registry,
    policy_option,
    registry_option,
    telemetry_options,
)
from caps.cli.signals import StopSignals

if TYPE_CHECKING:
    from concurrent.futures import Future

    from caps.capabilities.broker.approvals import DirectoryApprover
    from caps.capabilities.runtime.result import ExecutionResult, Failure
    from caps.security.approvals.model import ApprovalRequest

_NOT_SHOWN = "\N{REPLACEMENT CHARACTER}"
EXIT_BY_STATUS = {
    "ok": ExitCode.OK,
    "code_failed": ExitCode.CODE_FAILED,
    "policy_refused": ExitCode.POLICY_REFUSED,
    "limit": ExitCode.LIMIT,
}


@click.command()
@click.argument("file")
@policy_option
@click.option(
    "--audit",
    "audit_path",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Where the evidence goes; by default CAPS_AUDIT_PATH, else the user's state directory.",
)
@audit_sink_option
@click.option("--principal", default=None, help="Who it runs for; by default the current user.")
@click.option("--agent", default=None, help="The agent that wrote the code.")
@click.option(
    "--check",
    is_flag=True,
    help="Run nothing if a capability call is certain to fail; all such calls are listed.",
)
@click.option("--trail", is_flag=True, help="Show the audit trail of this run afterwards.")
@approvals_option
@telemetry_options
@registry_option
@json_option
def run(
    file: str,
    policy_path: str | None,
    audit_path: Path | None,
    audit_sinks: tuple[str, ...],
    principal: str | None,
    agent: str | None,
    check: bool,
    trail: bool,
    directory: Path | None,
    metrics_port: int | None,
    metrics_address: str,
    registry_name: str | None,
    as_json: bool,
) -> None:
    """Run FILE (`-` for standard input) with what the policy grants, and nothing else."""
    from caps.worker.host.zygote.launch import launched_ahead

    shown_name = "<stdin>" if file == "-" else Path(file).name
    result = None
    # The zygote gets ready while all else is read and imported.
    with told_in_one_line(), launched_ahead() as launched:
        source = read_source(file)
        settings = audit_settings(audit_path, audit_sinks)
        if as_json and settings.uses_standard_output:
            fail("`--json` and the sink `stdout:` exclude each other", ExitCode.BAD_USAGE)
        with StopSignals() as stop:
            with loading():
                from caps.capabilities.runtime.runtime import Runtime
                from caps.cli.telemetry import telemetry
                from caps.worker.host.zygote.source import ZygoteSource

                registry = load_registry(registry_name)
            with (
                telemetry(metrics_port, metrics_address) as watching,
                Runtime(
                    policy_path,
                    registry=registry,
                    audit=settings,
                    workers=ZygoteSource(
                        launched=launched, on_start=watching["metrics"].zygote_started
                    ),
                    approver=announcing_approver(directory),
                    watch=False,  # its one execution keeps the revision that it begins with
                    **watching,
                ) as runtime,
            ):
                if runtime.degraded:
                    degraded = f"isolation is degraded: {runtime.degraded}"
                    click.echo(f"caps: warning: {degraded}", err=True)
                result = result_of(
                    runtime.submit(
                        source,
                        principal=principal or f"user:{current_user()}",
                        agent=agent,
                        filename=shown_name,
                        on_output=None if as_json else print_output,
                        check=check,
                    ),
                    stop,
                )
    if stop.received is not None or result is None:
        leave_stopped(stop.received)
    if as_json:
        import json

        click.echo(json.dumps(result.as_json()))
    else:
        print_result(result)
    if trail:
        _print_trail(settings.directory, result.execution_id, beside_json=as_json)
    sys.exit(EXIT_BY_STATUS.get(result.status.value, ExitCode.HOST_FAILED))


def announcing_approver(directory: Path | None) -> DirectoryApprover:
    """Asks through the directory, and says on standard error what waits there."""
    from caps.capabilities.broker.approvals import DirectoryApprover

    return DirectoryApprover(directory, announce=_announce)


def _announce(request: ApprovalRequest) -> None:
    from caps.cli.render.tables import spelled_arguments, visible

    arguments = spelled_arguments(request.shown, request.hidden)
    what = visible(f"{request.capability}({arguments})")
    answer = f"caps approvals allow|deny {request.id[:12]}"
    click.echo(f"caps: {what} waits for an approval, answer with `{answer}`", err=True)


def result_of(running: Future[ExecutionResult], stop: StopSignals) -> ExecutionResult | None:
    """None if it was cancelled. It may be ending still: closing the runtime waits for its end."""
    from concurrent.futures import CancelledError

    stop.cancelling(running.cancel)
    try:
        return running.result()
    except CancelledError:
        return None


def leave_stopped(by: signal.Signals | None) -> NoReturn:
    """End as a command does that was stopped by a signal."""
    if by is signal.SIGTERM:
        fail("terminated", ExitCode.TERMINATED)
    fail("interrupted", ExitCode.INTERRUPTED)


def read_source(file: str) -> str:
    """The code in FILE, or standard input for `-`; ends the command if it cannot be read."""
    from caps.protocol.messages import MAX_SOURCE_BYTES

    if file == "-" and sys.stdin is None:
        fail("there is no standard input to read", ExitCode.BAD_USAGE)
    try:
        # One byte more than may run is enough to be refused; a device could go on for ever.
        with sys.stdin.buffer if file == "-" else Path(file).open("rb") as stream:
            data = stream.read(MAX_SOURCE_BYTES + 1)
        # What is too long is refused by its length, so a character that was cut does not matter.
        return data.decode("utf-8-sig", "replace" if len(data) > MAX_SOURCE_BYTES else "strict")
    except OSError as error:
        fail(f"`{file}` cannot be read: {error.strerror}", ExitCode.BAD_USAGE)
    except UnicodeDecodeError as error:
        fail(f"`{file}` is no utf-8 text: byte {error.start}", ExitCode.BAD_USAGE)


def current_user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user often has no name
        return str(os.getuid())


def print_output(text: str) -> None:
    try:
        click.echo(_for_terminal(text), nl=False, color=True)  # without it click drops escapes
    except BrokenPipeError:
        # Whoever read this is gone. The run goes on for its effects and its evidence.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _for_terminal(text: str) -> str:
    """What the code printed, without the escapes that a terminal would obey."""
    if not sys.stdout.isatty():
        return text
    return "".join(mark if mark.isprintable() or mark in "\n\t" else _NOT_SHOWN for mark in text)


def print_result(result: ExecutionResult) -> None:
    if result.error is not None:
        _print_failure(result.error)
    elif result.value is not None:
        shown = result.value if result.value_is_repr else _shown(result.value)
        click.echo(f"=> {_for_terminal(shown)}", color=True)


def _shown(value: Any) -> str:
    from caps.capabilities.runtime.result_json import json_form

    try:
        return repr(value)
    except ValueError:  # an integer of more digits than python spells
        return repr(json_form(value)[0])


def _print_failure(failure: Failure) -> None:
    from caps.cli.render.tables import visible

    if failure.traceback:
        lines = failure.traceback.rstrip("\n").split("\n")
        click.echo("\n".join(visible(line) for line in lines), err=True)
    else:
        click.echo(f"caps: {visible(failure.message)}", err=True)


def _print_trail(directory: Path, execution_id: str, *, beside_json: bool) -> None:
    from rich.console import Console

    from caps.cli.render.tables import audit_table
    from caps.security.audit import read_records

    console = Console(stderr=beside_json)
    console.print()
    console.print(
        audit_table(read_records(directory, execution_id=execution_id), of_one_execution=True)
    )
