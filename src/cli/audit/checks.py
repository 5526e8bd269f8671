"""`caps audit verify`, `prove`, `verify-proof`, `hash` and `export`."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from caps.cli.audit.options import Filters, audit_directory, directory_option, filter_options
from caps.cli.exits import MAX_MESSAGE_CHARACTERS, ExitCode, fail, report_errors
from caps.cli.input_files import STANDARD_INPUT, read_input, read_text
from caps.cli.options import json_option
from caps.cli.remote.audit import verify_remotely
from caps.cli.remote.server import chosen_server, refuse_local_options
from caps.protocol.text import printable

if TYPE_CHECKING:
    from caps.security.audit import VerifyStatus

# By the value of the status; a status that is not listed counts as unreadable.
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
    "forked": 17,
    "duplicated": 18,
    "lost_segment": 19,
    "unknown_key": 20,
}
PROOF_EXIT_CODES: Final = {
    "proven": 0,
    "malformed": 30,
    "edited": 31,
    "broken": 32,
    "checkpoint_bad": 33,
    "unknown_key": 34,
    "irrelevant": 35,
}

# No payload of a call is longer.
_MAX_VALUE_BYTES: Final = 16 * 1024 * 1024

_output = click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write to this file."
)


@click.command()
@directory_option
@json_option
@click.option(
    "--public-key",
    type=click.Path(path_type=Path),
    help="A trusted copy of `signing.pub`; by default the directory's own is trusted.",
)
@click.option(
    "--checkpoints",
    "kept",
    type=click.Path(path_type=Path),
    help="Checkpoints kept elsewhere, a file or a directory; the log must agree with them, too.",
)
def verify(
    directory: Path | None, as_json: bool, public_key: Path | None, kept: Path | None
) -> None:
    """Check the chain and its checkpoints.

    Exit code: 0 valid, 10 edited, 11 gap, 12 reordered, 13 truncated, 14 bad checkpoint, 15 torn
    tail (a crash, not an attack), 16 unreadable or empty, 17 forked, 18 duplicated, 19 lost
    segment, 20 unknown key.
    """
    from caps.security.audit import verify_log

    server = chosen_server()
    if server is not None:
        refuse_local_options("directory", "public_key", "kept")
        with report_errors():
            found = verify_remotely(server)
        fields = {name: getattr(found, name) for name in found.__struct_fields__}
        _print_report(fields, as_json=as_json, of=f"`{server.url}`: ")
        sys.exit(EXIT_CODES.get(found.status, EXIT_CODES["unreadable"]))
    chosen = audit_directory(directory)
    if public_key is not None:
        _trusted_keys(public_key)
    report = verify_log(chosen, public_key=public_key, kept_checkpoints=kept)
    _print_finding(report, as_json=as_json, of=f"`{chosen}`: ")
    sys.exit(exit_code(report.status))


def exit_code(status: VerifyStatus) -> int:
    """The exit code of `caps audit verify` for this status."""
    return EXIT_CODES.get(status.value, EXIT_CODES["unreadable"])


@click.command()
@click.argument("subject", metavar="ID")
@directory_option
@_output
@click.option(
    "--whole",
    is_flag=True,
    help="Include the records between, which proves that none of the execution is left out.",
)
def prove(directory: Path | None, subject: str, output: Path | None, whole: bool) -> None:
    """Export a proof that the records of execution ID are in the log.

    ID may also be the number or the hash of one record. The proof verifies with `verify-proof`
    and the public key alone; it contains other records by digest only.
    """
    from caps.cli.audit.output import output_file
    from caps.security.audit.verify.prove import prove as build_proof

    with report_errors():
        data = build_proof(audit_directory(directory), subject, whole=whole)
    with output_file(output) as write:
        write(data.decode("utf-8").rstrip("\n"))


@click.command("verify-proof")
@click.argument("file")
@click.option(
    "--public-key",
    type=click.Path(path_type=Path),
    required=True,
    help="The trusted copy of the log's `signing.pub`.",
)
@json_option
def verify_proof(file: str, public_key: Path, as_json: bool) -> None:
    """Check a proof, offline; FILE may be `-`.

    Exit code: 0 proven, 30 not a proof, 31 a record was edited, 32 the records do not lead to what
    was signed, 33 wrong signature, 34 unknown key, 35 no record is about the subject.
    """
    from caps.security.audit.verify.proof import MAX_PROOF_BYTES
    from caps.security.audit.verify.proof import verify_proof as check_proof

    keys = _trusted_keys(public_key)
    report = check_proof(read_input(file, MAX_PROOF_BYTES), keys)
    _print_finding(report, as_json=as_json)
    sys.exit(PROOF_EXIT_CODES[report.status.value])


@click.command("hash")
@click.argument("value")
@directory_option
@click.option("--json", "is_json", is_flag=True, help="VALUE is JSON: a number, a list, an object.")
def digest(directory: Path | None, value: str, is_json: bool) -> None:
    """Print the digest that the log has for VALUE, for `caps audit query --value-hash`.

    It uses the key of the log. `-` reads VALUE from standard input, so that it is not in the
    history of the shell; one newline at its end is dropped.
    """
    from caps.security.audit import Redactor
    from caps.security.audit.files.key_files import existing_redaction_key

    if value == "-":
        value = read_text(STANDARD_INPUT, _MAX_VALUE_BYTES).removesuffix("\n")
    if len(value.encode("utf-8", "surrogatepass")) > _MAX_VALUE_BYTES:
        fail(f"VALUE is longer than {_MAX_VALUE_BYTES} bytes", ExitCode.BAD_USAGE)
    try:
        parsed = json.loads(value) if is_json else value
    except (ValueError, RecursionError):
        fail("VALUE is not JSON", ExitCode.BAD_USAGE)
    with report_errors():
        redactor = Redactor(existing_redaction_key(audit_directory(directory)))
    click.echo(redactor.digest(parsed))


@click.command()
@directory_option
@filter_options
@_output
@click.option("--format", "form", type=click.Choice(["ocsf", "cloudevents"]), required=True)
@click.option(
    "--source", metavar="URI", help="The `source` of CloudEvents; by default `/caps/audit`."
)
def export(
    directory: Path | None, given: Filters, output: Path | None, form: str, source: str | None
) -> None:
    """Print the records as events of another system, one JSON object per line.

    ocsf: API Activity (class 6003). cloudevents: version 1.0, structured.
    """
    from caps.cli.audit.options import build_filter
    from caps.cli.audit.output import as_line, output_file
    from caps.protocol.version import package_version
    from caps.security.audit import read_records
    from caps.security.audit.export.cloudevents import DEFAULT_SOURCE, cloud_event
    from caps.security.audit.export.ocsf import ocsf_event

    if source is not None and (form != "cloudevents" or not source):
        fail("`--source` is the URI of CloudEvents, and not empty", ExitCode.BAD_USAGE)
    version = package_version()
    with report_errors(), output_file(output) as write:
        record_filter = build_filter(given)
        for record in filter(record_filter.matches, read_records(audit_directory(directory))):
            if form == "ocsf":
                write(as_line(ocsf_event(record, version)))
            else:
                write(as_line(cloud_event(record, source or DEFAULT_SOURCE)))


def _trusted_keys(path: Path) -> dict[str, Any]:
    """The keys in the file; without any, nothing can be verified, so the command ends."""
    from caps.protocol.errors import AuditError
    from caps.security.audit.signing.checkpoint import load_public_keys

    try:
        return dict(load_public_keys(path))
    except AuditError as error:
        fail(error.message, ExitCode.BAD_USAGE)


def _print_finding(report: Any, *, as_json: bool, of: str = "") -> None:
    """Print the report on a log or a proof; one that is not sound goes to standard error.

    `of` names what was checked; the message of a report that is not sound has the place itself.
    """
    fields = {field.name: getattr(report, field.name) for field in dataclasses.fields(report)}
    _print_report({**fields, "status": report.status.value}, as_json=as_json, of=of)


def _print_report(report: Mapping[str, Any], *, as_json: bool, of: str) -> None:
    if as_json:
        click.echo(json.dumps(report))
        return
    status: str = report["status"]
    sound = status in ("ok", "proven")
    label = click.style(status.replace("_", " "), fg="green" if sound else "red")
    message = printable((of if sound else "") + report["message"], MAX_MESSAGE_CHARACTERS)
    click.echo(f"{label}: {message}", err=not sound)
