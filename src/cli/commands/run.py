"""`caps run`: run a file under a policy, and print the result."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from caps.cli.exits import ExitCode, fail, report_errors
from caps.cli.gc_pause import gc_paused
from caps.cli.input_files import parse_inputs, read_source
from caps.cli.options import (
    agent_option,
    announcing_approver,
    approvals_option,
    audit_option,
    audit_settings,
    audit_sink_option,
    json_option,
    policy_option,
    principal_option,
    principal_or_user,
    raw_option,
    registry_option,
    session_option,
    telemetry_options,
)
from caps.cli.remote.run import run_remotely
from caps.cli.remote.server import chosen_server, policy_given, refuse_local_options
from caps.cli.render.artifact_files import ArtifactDirectory
from caps.cli.signals import StopSignals, exit_by_signal, result_of
from caps.cli.streams import ProgramOutput
from caps.cli.tool_cards import carded_registry
from caps.protocol.text import escape_unprintable

if TYPE_CHECKING:
    from caps.capabilities.artifacts import Artifact
    from caps.capabilities.runtime.result import ExecutionResult
    from caps.capabilities.runtime.runtime import Runtime
    from caps.security.audit import AuditRecord

_LOCAL_OPTIONS = (
    "audit_path audit_sinks principal directory metrics_port metrics_address registry_name "
    "exit_status"
).split()
_MAX_DIGITS = 20  # of a status; a longer one is not read as a number
EXIT_BY_STATUS = {
    "ok": ExitCode.OK,
    "code_failed": ExitCode.CODE_FAILED,
    "policy_refused": ExitCode.POLICY_REFUSED,
    "limit": ExitCode.LIMIT,
}


@click.command()
@click.argument("file")
@click.argument("argv", nargs=-1, type=click.UNPROCESSED)
@policy_option
@audit_option
@audit_sink_option
@principal_option
@agent_option
@session_option
@click.option(
    "--check",
    is_flag=True,
    help="Run nothing if a capability call is certain to fail; all such calls are listed.",
)
@click.option(
    "--input",
    "inputs",
    multiple=True,
    metavar="NAME=VALUE",
    help="A value that the code finds under this name: JSON, other text, or `@FILE`; repeatable.",
)
@click.option(
    "--artifacts",
    "artifacts_path",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write what the code hands out into this directory; nothing there is overwritten.",
)
@click.option(
    "--strip-fences",
    is_flag=True,
    help="Run the code between Markdown fences, if there are any.",
)
@click.option(
    "--exit-status",
    is_flag=True,
    help="End with the status that the code gives to `sys.exit`, which may equal a code of ours.",
)
@click.option("--trail", is_flag=True, help="Show the audit trail of this run afterwards.")
@raw_option
@approvals_option
@telemetry_options
@registry_option
@json_option
def run(
    file: str,
    argv: tuple[str, ...],
    policy_paths: tuple[str, ...],
    audit_path: Path | None,
    audit_sinks: tuple[str, ...],
    principal: str | None,
    agent: str | None,
    session: str | None,
    check: bool,
    inputs: tuple[str, ...],
    artifacts_path: Path | None,
    strip_fences: bool,
    exit_status: bool,
    trail: bool,
    raw: bool,
    directory: Path | None,
    metrics_port: int | None,
    metrics_address: str,
    registry_name: str | None,
    as_json: bool,
) -> None:
    """Run FILE (`-` for standard input) with what all policies grant, and nothing else.

    What follows `--` is in `sys.argv` of the code.
    """
    from caps.worker.host.zygote.launch import prelaunched_zygote

    server = chosen_server()
    if server is not None:
        refuse_local_options(*_LOCAL_OPTIONS)
        with report_errors():
            run_remotely(
                server,
                _without_fences(read_source(file)) if strip_fences else read_source(file),
                output=ProgramOutput(raw=raw),
                as_json=as_json,
                artifacts=ArtifactDirectory(artifacts_path) if artifacts_path else None,
                trail=trail,
                inputs=parse_inputs(inputs),
                argv=argv,
                agent_id=agent,
                policy=policy_given(policy_paths),
                session=session,
                filename="<stdin>" if file == "-" else Path(file).name,
                check=check,
            )
    filename = "<stdin>" if file == "-" else Path(file).name
    output = ProgramOutput(raw=raw)
    result = None
    # The zygote starts while everything else is read and imported.
    with report_errors(), prelaunched_zygote() as launched:
        source = _without_fences(read_source(file)) if strip_fences else read_source(file)
        values = parse_inputs(inputs)
        directory_of_artifacts = artifacts_path and ArtifactDirectory(artifacts_path)
        settings = audit_settings(audit_path, audit_sinks)
        if as_json and settings.uses_standard_output:
            fail("`--json` and the sink `stdout:` exclude each other", ExitCode.BAD_USAGE)
        with StopSignals() as stop, ExitStack() as opened:
            with gc_paused():
                from caps.capabilities.runtime.runtime import Runtime
                from caps.cli.telemetry import telemetry
                from caps.worker.host.zygote.source import ZygoteSource

                registry = carded_registry(registry_name, settings)
                instruments = opened.enter_context(telemetry(metrics_port, metrics_address))
                runtime = opened.enter_context(
                    Runtime(
                        policy_paths or None,
                        registry=registry,
                        audit=settings,
                        workers=ZygoteSource(
                            launched=launched, on_start=instruments["metrics"].zygote_started
                        ),
                        approver=announcing_approver(directory),
                        watch=False,  # its only execution keeps the policy that it started with
                        **instruments,
                    )
                )
            warn_if_degraded(runtime)
            result = result_of(
                runtime.submit(
                    source,
                    principal=principal_or_user(principal),
                    agent=agent,
                    session=session,
                    filename=filename,
                    on_output=None if as_json else output,
                    check=check,
                    inputs=values,
                    argv=argv,
                ),
                stop,
            )
    if stop.received is not None or result is None:
        exit_by_signal(stop.received)
    files = directory_of_artifacts.write(result.artifacts) if directory_of_artifacts else None
    if as_json:
        click.echo(_as_json(result, files))
    else:
        print_result(result, output)
        print_artifacts(result.artifacts, files)
    if trail:
        _print_trail(settings.directory, result.execution_id, to_stderr=as_json)
    output.exit_if_lost()
    own = _own_status(result) if exit_status else None
    sys.exit(own or EXIT_BY_STATUS.get(result.status.value, ExitCode.HOST_FAILED))


def _without_fences(text: str) -> str:
    from caps.capabilities.runtime.formats.markdown import strip_fences

    return strip_fences(text)


def _own_status(result: ExecutionResult) -> int | None:
    """The status that the code ended itself with, as the kernel keeps it; None if it did not."""
    error = result.error
    if error is None or error.type != "SystemExit" or result.status.value != "code_failed":
        return None
    number = error.message.removeprefix("-")
    is_number = number.isascii() and number.isdigit() and len(number) < _MAX_DIGITS
    return int(error.message) & 0xFF if is_number else None


def warn_if_degraded(runtime: Runtime) -> None:
    if runtime.degraded:
        click.echo(f"caps: warning: isolation is degraded: {runtime.degraded}", err=True)


def print_result(result: ExecutionResult, output: ProgramOutput) -> None:
    if result.error is not None:
        print_failure(result.error.message, result.error.traceback)
    elif result.value is not None:
        from caps.capabilities.runtime.formats.json_value import safe_repr

        shown = result.value if result.value_is_repr else safe_repr(result.value)
        output(f"=> {shown}\n")


def _as_json(result: ExecutionResult, files: Sequence[Path] | None) -> str:
    """With the path of each artifact that was written, and else with its content."""
    import json

    return json.dumps(with_paths(result.as_json(), files))


def with_paths(found: dict[str, Any], files: Sequence[Path] | None) -> dict[str, Any]:
    """The JSON of a result with the paths of its artifacts, if they were written."""
    for artifact, path in zip(found["artifacts"], files or (), strict=files is not None):
        del artifact["content"]
        artifact["path"] = str(path)
    return found


def print_artifacts(artifacts: Sequence[Artifact], files: Sequence[Path] | None) -> None:
    """A line for each artifact: its file, or that it is in no file."""
    for index, artifact in enumerate(artifacts):
        name = escape_unprintable(str(files[index]) if files is not None else artifact.name)
        kept = "" if files is not None else "; `caps run --artifacts DIR` writes it to a file"
        what = f"{artifact.media_type}, {artifact.size} bytes"
        click.echo(f"caps: artifact `{name}` ({what}){kept}", err=True)


def print_failure(message: str, traceback: str) -> None:
    if traceback:
        lines = traceback.rstrip("\n").split("\n")
        click.echo("\n".join(escape_unprintable(line) for line in lines), err=True)
    else:
        click.echo(f"caps: {escape_unprintable(message)}", err=True)


def _print_trail(directory: Path, execution_id: str, *, to_stderr: bool) -> None:
    from caps.security.audit import read_records

    print_trail(read_records(directory, execution_id=execution_id), to_stderr=to_stderr)


def print_trail(records: Iterable[AuditRecord], *, to_stderr: bool) -> None:
    """The records of one execution."""
    from caps.cli.render.console import Console
    from caps.cli.render.tables import audit_table

    console = Console(stderr=to_stderr)
    console.print()
    console.print(audit_table(records, of_one_execution=True))
