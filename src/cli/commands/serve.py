"""`caps serve`: the HTTP service."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

import click

from caps.cli.exits import report_errors
from caps.cli.gc_pause import gc_paused
from caps.cli.options import (
    audit_option,
    audit_settings,
    audit_sink_option,
    load_registry,
    policy_option,
    registry_option,
)
from caps.protocol.environment import Variable
from caps.protocol.errors import ConfigurationError

if TYPE_CHECKING:
    from caps.service.limits import RequestLimits


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to serve on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8080, show_default=True)
@policy_option
@audit_option
@audit_sink_option
@registry_option
@click.option(
    "--drain-seconds",
    type=click.FloatRange(0, 3600),
    default=30.0,
    show_default=True,
    help="How long executions may go on after SIGTERM.",
)
@click.option(
    "--max-body-bytes",
    type=click.IntRange(1024, 1 << 30),
    default=8 * 1024 * 1024,
    show_default=True,
)
@click.option(
    "--requests-per-second",
    type=click.FloatRange(0.1, 100_000),
    default=50.0,
    show_default=True,
    help="Of one principal; four seconds' worth may come at once.",
)
@click.option(
    "--max-executions",
    type=click.IntRange(1, 10_000),
    default=64,
    show_default=True,
    help="Of one principal, waiting or running.",
)
@click.option(
    "--keep-days",
    type=click.FloatRange(0, 36_500),
    default=90.0,
    show_default=True,
    help="How long executions and their events are kept after their end; 0 is for ever.",
)
def serve(
    host: str,
    port: int,
    policy_paths: tuple[str, ...],
    audit_path: Path | None,
    audit_sinks: tuple[str, ...],
    registry_name: str | None,
    drain_seconds: float,
    max_body_bytes: int,
    requests_per_second: float,
    max_executions: int,
    keep_days: float,
) -> None:
    """Serve everything over HTTP, with the store of CAPS_DATABASE_URL, else the user's own file.

    Requests need a token: see `caps token`, and CAPS_TOKEN_SECRET_FILE. The policies are over
    whatever an agent or a request brings.
    """
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    with report_errors():
        settings = audit_settings(audit_path, audit_sinks)
        with gc_paused():
            registry = load_registry(registry_name)
            limits = _limits(max_body_bytes, requests_per_second, max_executions, keep_days)
        import anyio

        from caps.service.serve import ServeSettings, serve

        if not policy_paths and not Variable.POLICY_PATH.read():
            click.echo("caps: there is no policy, so nothing is granted", err=True)

        async def main() -> None:
            await serve(
                ServeSettings(host=host, port=port, drain_seconds=drain_seconds, limits=limits),
                policy=policy_paths or None,
                registry=registry,
                audit=settings,
                on_ready=_announce,
            )

        anyio.run(main)


def _limits(
    max_body_bytes: int, requests_per_second: float, max_executions: int, keep_days: float
) -> RequestLimits:
    try:
        from caps.service.limits import RequestLimits  # loads all that the extra has
    except ImportError as error:
        raise ConfigurationError(
            "the service needs the extra `service`; install `caps-runtime[service]`"
        ) from error
    return RequestLimits(
        body_bytes=max_body_bytes,
        requests_per_second=requests_per_second,
        burst=max(1, int(requests_per_second * 4)),
        pending_executions=max_executions,
        keep_days=keep_days,
    )


def _announce(address: str, is_development: bool) -> None:
    if is_development:
        click.echo("caps: there is no secret, so only loopback is served", err=True)
        click.echo("caps: `caps token` makes a token for development", err=True)
    click.echo(f"caps: serving on {address}", err=True)
