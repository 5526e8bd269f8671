"""`caps audit rotate-key`: another key signs from now on."""

from __future__ import annotations

import json
from pathlib import Path

import click

from caps.cli.audit.options import asked_directory, directory_option
from caps.cli.exits import ExitCode, fail, told_in_one_line
from caps.cli.options import json_option


@click.command("rotate-key")
@directory_option
@json_option
def rotate_key(directory: Path | None, as_json: bool) -> None:
    """Make a new signing key; the old one vouches for it in the log, and is then deleted.

    Processes that write the log take the new key with their next checkpoint. A verifier that
    trusts the old key follows the record to the new one. The sinks of CAPS_AUDIT_SINKS get that
    record, too, but for standard output, which is this command's own.
    """
    from caps.security.audit.signing.finish_rotation import rotate_key_of
    from caps.security.audit.files.reader import segment_paths
    from caps.security.audit.log.settings import AuditSettings
    from caps.security.audit.sinks.urls import SinkKind

    chosen = asked_directory(directory)
    if not chosen.is_dir() or not segment_paths(chosen):
        fail(f"`{chosen}` is no audit log; there is no key to rotate", ExitCode.BAD_USAGE)
    with told_in_one_line():
        sinks = AuditSettings.from_environment(chosen).sinks
        elsewhere = [sink for sink in sinks if sink.kind is not SinkKind.STDOUT]
        event = rotate_key_of(chosen, elsewhere)
    if as_json:
        click.echo(json.dumps({"old_key_id": event.old_key_id, "new_key_id": event.new_key_id}))
        return
    click.echo(f"`{event.new_key_id}` signs instead of `{event.old_key_id}`")
    click.echo(f"keep a copy of `{chosen / 'signing.pub'}` where this host cannot write")
