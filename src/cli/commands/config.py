"""`caps config`: what is configured, where it comes from, and whether it can be used."""

from __future__ import annotations

import json
import sys

import click

from caps.cli.exits import ExitCode, report_errors
from caps.cli.options import json_option
from caps.protocol.text import printable


@click.group()
def config() -> None:
    """Show and check the settings, from the environment and the configuration file."""


@config.command()
@json_option
def show(as_json: bool) -> None:
    """Print every setting, its value, and where it comes from. Secrets are masked."""
    from caps.agents.settings import settings_shown

    with report_errors():
        found = settings_shown()
    if as_json:
        rows = [
            {
                "variable": each.variable,
                "setting": each.setting,
                "value": each.value or None,
                "source": each.source.value,
            }
            for each in found
        ]
        click.echo(json.dumps(rows))
        return
    width = max(len(each.setting) for each in found)
    for each in found:
        shown = printable(each.value or each.default, 300)
        click.echo(f"{each.setting:<{width}}  {each.source.value:<11}  {shown}")


@config.command()
@json_option
def check(as_json: bool) -> None:
    """Check every setting as the program that uses it does; exit with 7 if one is wrong."""
    from caps.agents.settings import settings_problems

    with report_errors():
        found = list(dict.fromkeys([*settings_problems(), *_problems_of_client()]))
    if as_json:
        click.echo(json.dumps({"problems": found}))
    else:
        lines = [printable(problem, 600) for problem in found]
        click.echo("\n".join(lines) or "the settings can be used")
    sys.exit(ExitCode.FOUND if found else ExitCode.OK)


def _problems_of_client() -> list[str]:
    """Those of CAPS_SERVER and its token, if commands use a service."""
    from caps.protocol.environment import Variable
    from caps.protocol.errors import ConfigurationError

    try:
        if not Variable.SERVER.read():
            return []
        from caps.client.settings import service_place, token_source

        service_place(None, plain_http=True)
        token_source(None, None)
    except ConfigurationError as error:
        return [error.message]
    except ImportError:
        return [f"{Variable.SERVER.key} needs the extra `client`"]
    return []
