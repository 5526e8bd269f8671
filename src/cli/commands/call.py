"""`caps call`: one call of one function under a policy, without any code."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from caps.cli.exits import EXIT_BY_CALL_ERROR, ExitCode, fail, report_errors
from caps.cli.gc_pause import gc_paused
from caps.cli.input_files import parse_payload, read_text
from caps.cli.options import (
    announcing_approver,
    approvals_option,
    audit_option,
    audit_settings,
    audit_sink_option,
    json_option,
    policy_option,
    principal_or_user,
    registry_option,
    session_option,
)
from caps.cli.remote.server import (
    chosen_server,
    policy_given,
    refuse_local_options,
    remote_client,
)
from caps.cli.signals import StopSignals, exit_by_signal, result_of
from caps.cli.tool_cards import carded_registry

if TYPE_CHECKING:
    from caps.capabilities.runtime.call import CallResult
    from caps.client.values import Call

_LOCAL_OPTIONS = "audit_path audit_sinks principal directory registry_name".split()


@click.command()
@click.argument("function")
@click.argument("payload", default="{}")
@policy_option
@audit_option
@audit_sink_option
@click.option("--principal", default=None, help="Who calls; by default the current user.")
@click.option("--agent", default=None, help="The agent that the call is made for.")
@session_option
@click.option("--timeout-ms", type=click.IntRange(1, 3_600_000), help="The longest it may take.")
@approvals_option
@registry_option
@json_option
def call(
    function: str,
    payload: str,
    policy_paths: tuple[str, ...],
    audit_path: Path | None,
    audit_sinks: tuple[str, ...],
    principal: str | None,
    agent: str | None,
    session: str | None,
    timeout_ms: int | None,
    directory: Path | None,
    registry_name: str | None,
    as_json: bool,
) -> None:
    """Call FUNCTION, such as `files.read`, with PAYLOAD, and print its result as JSON.

    PAYLOAD is a JSON object, `@FILE`, or `-` for standard input. The policy decides and the audit
    log records as if code had made the call.
    """
    server = chosen_server()
    if server is not None:
        refuse_local_options(*_LOCAL_OPTIONS)
        with report_errors(), remote_client(server) as client:
            done = client.call(
                function,
                parse_payload(_payload_text(payload)),
                agent_id=agent,
                policy=policy_given(policy_paths),
                session=session,
                timeout_ms=timeout_ms,
            )
        _print_and_exit(done, as_json=as_json)
    result = None
    with report_errors():
        arguments = parse_payload(_payload_text(payload))
        settings = audit_settings(audit_path, audit_sinks)
        if settings.uses_standard_output:
            fail("the result and the sink `stdout:` exclude each other", ExitCode.BAD_USAGE)
        with StopSignals() as stop:
            with gc_paused():
                from caps.capabilities.runtime.runtime import Runtime

                registry = carded_registry(registry_name, settings)
            with Runtime(
                policy_paths or None,
                registry=registry,
                audit=settings,
                approver=announcing_approver(directory),
                watch=False,  # its only call keeps the policy that it started with
            ) as runtime:
                running = runtime.submit_call(
                    function,
                    arguments,
                    principal=principal_or_user(principal),
                    agent=agent,
                    session=session,
                    timeout_ms=timeout_ms,
                )
                result = result_of(running, stop)
    if stop.received is not None or result is None:
        exit_by_signal(stop.received)
    _print_and_exit(result, as_json=as_json)


def _payload_text(payload: str) -> str:
    from caps.capabilities.runtime.call import MAX_REQUEST_BYTES

    if payload == "-":
        return read_text("-", MAX_REQUEST_BYTES)
    return read_text(payload[1:], MAX_REQUEST_BYTES) if payload.startswith("@") else payload


def _print_and_exit(result: CallResult | Call, *, as_json: bool) -> NoReturn:
    if as_json:
        click.echo(json.dumps(result.as_json()))
    elif result.error is None:
        click.echo(json.dumps(result.value, indent=2))
    if result.error is None:
        sys.exit(ExitCode.OK)
    code = EXIT_BY_CALL_ERROR.get(result.error.code, ExitCode.CODE_FAILED)
    if as_json:
        sys.exit(code)
    fail(result.error.message, code)
