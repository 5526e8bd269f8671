"""`caps run` on a service: start it, print its output as it comes, then its result."""

from __future__ import annotations

import contextlib
import json
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from caps.cli.exits import ExitCode, fail
from caps.cli.remote.audit import remote_records
from caps.cli.remote.server import Server, remote_client
from caps.cli.render.artifact_files import ArtifactDirectory
from caps.cli.signals import StopSignals, exit_by_signal
from caps.cli.streams import ProgramOutput
from caps.protocol import errors

if TYPE_CHECKING:
    from caps.capabilities.artifacts import Artifact
    from caps.client import Client
    from caps.client.values import Execution, Result

# Of an execution that could not be run: those that the caller can correct.
_CALLER_CODES: Final = frozenset(
    each.code
    for each in (
        errors.CallerFault,
        errors.ConfigurationError,
        errors.AgentInvalidError,
        errors.SessionBusyError,
        errors.SessionEndedError,
    )
)


def run_remotely(
    server: Server,
    code: str,
    *,
    output: ProgramOutput,
    as_json: bool,
    artifacts: ArtifactDirectory | None,
    trail: bool,
    **options: Any,
) -> None:
    """Run `code` there, and end the command as the local one ends."""
    with StopSignals() as stop, remote_client(server) as client:
        begun = client.start_execution(code, **options)
        stop.on_stop(lambda: _cancel(client, begun.id))
        for event in client.events(begun.id):
            if event.kind == "output" and not as_json:
                output(str(event.data.get("text", "")))
        done = client.get_execution(begun.id)
    if stop.received is not None:
        exit_by_signal(stop.received)
    result = _result(done)
    files = _print(result, output, as_json=as_json, artifacts=artifacts)
    if as_json:
        click.echo(json.dumps(_document(result, files)))
    from caps.cli.commands.run import EXIT_BY_STATUS, print_trail

    if trail:
        records = remote_records(server, {"execution": done.id})
        print_trail(records, to_stderr=as_json)
    output.exit_if_lost()

    sys.exit(EXIT_BY_STATUS.get(result.status, ExitCode.HOST_FAILED))


def _cancel(client: Client, execution_id: str) -> None:
    """In a thread: this is called by the handler of a signal, in the middle of anything."""

    def cancel() -> None:
        with contextlib.suppress(errors.CapsError):  # the stream of events ends with the same error
            client.cancel_execution(execution_id)

    threading.Thread(target=cancel, daemon=True).start()


def _result(done: Execution) -> Result:
    """The result; ends the command if there is none."""
    if done.result is None:
        error = done.error
        code, message = ("", done.status) if error is None else (error.code, error.message)
        if code == errors.PolicyInvalidError.code:
            fail(message, ExitCode.POLICY_INVALID)
        fail(message, ExitCode.BAD_USAGE if code in _CALLER_CODES else ExitCode.HOST_FAILED)
    return done.result


def _print(
    result: Result,
    output: ProgramOutput,
    *,
    as_json: bool,
    artifacts: ArtifactDirectory | None,
) -> Sequence[Path] | None:
    """Print the value or the error, and write the artifacts; returns their files."""
    from caps.cli.commands.run import print_artifacts, print_failure

    handed_out = _handed_out(result)
    files = None if artifacts is None else artifacts.write(handed_out)
    if as_json:
        return files
    if result.error is not None:
        print_failure(result.error.message, result.error.traceback)
    elif result.value is not None:
        output(f"=> {_shown(result)}\n")
    print_artifacts(handed_out, files)
    return files


def _shown(result: Result) -> str:
    from caps.capabilities.runtime.formats.json_value import safe_repr

    if result.value_is_repr:
        return str(result.value)
    return safe_repr(result.value) if result.value_shown is None else result.value_shown


def _handed_out(result: Result) -> list[Artifact]:
    """Checked again: the names come from a service, which got them from code."""
    from caps.capabilities.artifacts import Artifact

    try:
        return [
            Artifact(name=each.name, media_type=each.media_type, content=each.content)
            for each in result.artifacts
        ]
    except ValueError as error:
        fail(f"the service sent an artifact that cannot be used: {error}", ExitCode.HOST_FAILED)


def _document(result: Result, files: Sequence[Path] | None) -> Mapping[str, Any]:
    from caps.cli.commands.run import with_paths

    return with_paths(result.as_json(), files)
