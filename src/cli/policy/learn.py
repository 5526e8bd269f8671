"""`caps policy learn`: propose the smallest policy for code, or for a log, with the evidence."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from caps.cli.exits import ExitCode, fail, report_errors
from caps.cli.input_files import read_source
from caps.cli.options import json_option, load_registry, principal_or_user, registry_option
from caps.cli.policy.files import records_of
from caps.protocol.environment import Variable
from caps.protocol.text import escape_unprintable

if TYPE_CHECKING:
    from caps.capabilities.registry import CapabilityRegistry
    from caps.capabilities.runtime.result import ExecutionResult
    from caps.security.audit import AuditRecord
    from caps.security.review.learn import Proposal

_NOT_LEARNABLE = ("host_failed", "worker_lost", "protocol_violation", "cancelled")


@click.command()
@click.argument("source")
@click.option(
    "--policy",
    "policy_path",
    metavar="FILE",
    help="The policy; by default the file that CAPS_POLICY_PATH names, else nothing is granted.",
)
@click.option(
    "--audit",
    "audit_path",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Where the run is recorded; by default CAPS_AUDIT_PATH, else the user's state directory.",
)
@click.option("--execution", metavar="ID", help="Of a log, only this execution.")
@click.option(
    "--include-denied",
    is_flag=True,
    help="Of a log, count refused calls as needed, too; they may have been an attack.",
)
@click.option(
    "--id", "policy_id", default="learned", show_default=True, help="The id of the proposed policy."
)
@registry_option
@json_option
def learn(
    source: str,
    policy_path: str | None,
    audit_path: Path | None,
    execution: str | None,
    include_denied: bool,
    policy_id: str,
    registry_name: str | None,
    as_json: bool,
) -> None:
    """Propose the smallest policy for SOURCE: a file of code, or the directory of an audit log.

    Code runs under the given policy, and nothing more is granted: further calls are refused and
    recorded, and it may take several rounds to see all of them. The proposal is printed to
    standard output, the evidence for each part of it to standard error.
    """
    from caps.security.policies.load import load_policy
    from caps.security.review.learn import learn as propose

    _check_id(policy_id)
    with report_errors():
        registry = load_registry(registry_name)
        records: Iterable[AuditRecord]
        if Path(source).is_dir():
            records = records_of(Path(source), execution)
        else:
            records = _run(source, policy_path, registry, audit_path)
        given = policy_path or Variable.POLICY_PATH.read()
        proposal = propose(
            registry,
            records,
            base=load_policy(given) if given else None,
            directory=Path.cwd(),
            include_denied=include_denied,
            policy_id=policy_id,
        )
    if as_json:
        click.echo(json.dumps(asdict(proposal)))
    else:
        click.echo(json.dumps(proposal.policy, indent=2))
        _print_evidence(proposal)


def _check_id(policy_id: str) -> None:
    from pydantic import ValidationError

    from caps.security.policy import SecurityPolicy

    try:
        SecurityPolicy(id=policy_id)
    except ValidationError:
        fail(
            f"`{policy_id}` cannot be the id of a policy: letters, digits, `.`, `_` and `-`",
            ExitCode.BAD_USAGE,
        )


def _run(
    file: str, policy_path: str | None, registry: CapabilityRegistry, audit_path: Path | None
) -> list[AuditRecord]:
    """Run the code with only what the policy grants; the records of the run."""
    from caps.capabilities.runtime.runtime import Runtime
    from caps.cli.signals import StopSignals, exit_by_signal, result_of
    from caps.security.audit import default_audit_directory, read_records

    source, directory = read_source(file), audit_path or default_audit_directory()
    result = None
    with StopSignals() as stop, Runtime(policy_path, registry=registry, audit=directory) as runtime:
        running = runtime.submit_learning(
            source,
            principal=principal_or_user(None),
            filename="<stdin>" if file == "-" else Path(file).name,
        )
        result = result_of(running, stop)
    if stop.received is not None or result is None:
        exit_by_signal(stop.received)
    _report_end(result)
    return list(read_records(directory, execution_id=result.execution_id))


def _report_end(result: ExecutionResult) -> None:
    message = (
        escape_unprintable(result.error.message) if result.error is not None else "ran to its end"
    )
    if result.status.value in _NOT_LEARNABLE:
        fail(message, ExitCode.HOST_FAILED)
    click.echo(f"caps: the code ended as {result.status.value}: {message}", err=True)


def _listed(records: Sequence[int], of: int) -> str:
    more = ", …" if len(records) < of else ""
    return ", ".join(str(seq) for seq in records) + more


def _print_evidence(proposal: Proposal) -> None:
    from caps.security.review.plurals import times

    def show(text: str) -> None:
        click.echo(escape_unprintable(text), err=True)

    for one in proposal.evidence:
        records = _listed(one.records, one.count)
        show(f"{one.place} = {json.dumps(one.value)}: {one.because}; {times(one.count)}")
        show(f"  records: {records}")
        for example in one.examples:
            show(f"  example: {example}")
    for left in proposal.left_out:
        records = _listed(left.records, left.count)
        show(f"left out: {left.capability}, {times(left.count)}: {left.because}")
        show(f"  records: {records}")
    for note in proposal.notes:
        show(f"note: {note}")
    if not proposal.policy["allow"]:
        show("note: nothing was asked for that could be allowed")
