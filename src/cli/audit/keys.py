"""`caps audit rotate-key`: replace the signing key."""

from __future__ import annotations

import json
from pathlib import Path

import click

from caps.cli.audit.options import audit_directory, directory_option
from caps.cli.exits import ExitCode, fail, report_errors
from caps.cli.options import json_option


@click.command("rotate-key")
@directory_option
@json_option
def rotate_key(directory: Path | None, as_json: bool) -> None:
    """Create a new signing key; the old one signs it in the log, and is then deleted.

    Processes that write the log use the new key from their next checkpoint on. A verifier that
    trusts the old key follows the record to the new one. The sinks of CAPS_AUDIT_SINKS get that
    record, too, except for standard output, which this command uses itself.
    """
    from caps.security.audit.files.reader import segment_paths
    from caps.security.audit.log.settings import AuditSettings
    from caps.security.audit.signing.finish_rotation import rotate_key_of
    from caps.security.audit.sinks.urls import SinkKind

    log = audit_directory(directory)
    if not log.is_dir() or not segment_paths(log):
        fail(f"`{log}` is not an audit log; there is no key to rotate", ExitCode.BAD_USAGE)
    with report_errors():
        sinks = AuditSettings.from_environment(log).sinks
        elsewhere = [sink for sink in sinks if sink.kind is not SinkKind.STDOUT]
        event = rotate_key_of(log, elsewhere)
    if as_json:
        click.echo(json.dumps({"old_key_id": event.old_key_id, "new_key_id": event.new_key_id}))
        return
    click.echo(f"`{event.new_key_id}` signs instead of `{event.old_key_id}`")
    click.echo(f"keep a copy of `{log / 'signing.pub'}` where this host cannot write")
