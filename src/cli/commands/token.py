"""`caps token`: a bearer token for development."""

from __future__ import annotations

import click

from caps.cli.exits import report_errors
from caps.cli.input_files import MAX_INPUT_FILE_BYTES, parse_payload, read_text
from caps.cli.options import principal_or_user
from caps.protocol.environment import Variable
from caps.protocol.errors import ConfigurationError


@click.command()
@click.option(
    "--role",
    type=click.Choice(["viewer", "runner", "publisher", "admin"]),
    default="runner",
    show_default=True,
)
@click.option("--principal", default=None, help="Who it is for; by default the current user.")
@click.option(
    "--hours",
    type=click.FloatRange(0.001, 24 * 365),
    default=8.0,
    show_default=True,
    help="How long it is valid.",
)
@click.option("--agent", metavar="ID", help="Only for MCP, as this stored agent.")
@click.option(
    "--policy",
    "policy_path",
    metavar="FILE",
    help="Only for MCP, with this policy in the token, beneath all others.",
)
def token(
    role: str, principal: str | None, hours: float, agent: str | None, policy_path: str | None
) -> None:
    """Print a token that `caps serve` and `caps mcp serve --http` accept.

    It is signed with the secret of CAPS_TOKEN_SECRET_FILE, else with the one for development.
    """
    with report_errors():
        try:
            from caps.agents.sign_in_settings import SignInSettings, read_secret
            from caps.service.signin.keys import development_secret
            from caps.service.signin.tokens import make_token
        except ImportError as error:
            raise ConfigurationError(
                "tokens need the extra `service`; install `caps-runtime[service]`"
            ) from error
        settings = SignInSettings.from_environment()
        if settings.jwks is not None:
            raise ConfigurationError(
                f"{Variable.TOKEN_JWKS.key} holds public keys only; get a token from its issuer"
            )
        policy = None
        if policy_path is not None:
            policy = parse_payload(read_text(policy_path, MAX_INPUT_FILE_BYTES))
        path = settings.secret_file
        made = make_token(
            development_secret() if path is None else read_secret(path),
            settings,
            principal=principal_or_user(principal),
            role=role,
            seconds=max(1, int(hours * 3600)),
            agent=agent,
            policy=policy,
        )
    click.echo(made)
