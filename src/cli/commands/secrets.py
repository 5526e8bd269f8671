"""`caps secrets`: the secrets of the store. A value comes from standard input and is not shown."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import click

from caps.cli.exits import ExitCode, fail, report_errors
from caps.cli.input_files import STANDARD_INPUT, read_input
from caps.cli.options import json_option, store_option
from caps.protocol.text import escape_unprintable

if TYPE_CHECKING:
    from caps.store.repositories.secrets import Secrets

T = TypeVar("T")

_principal_option = click.option(
    "--principal",
    metavar="NAME",
    help="Whose secret it is; by default that of every principal.",
)


@click.group()
def secrets() -> None:
    """Set, list and delete the secrets of the store."""


@secrets.command("set")
@click.argument("name")
@_principal_option
@store_option
def set_(name: str, principal: str | None, url: str | None) -> None:
    """Create or replace the secret NAME. Its value is read from standard input.

    A last newline is not part of it.
    """
    from caps.capabilities.secrets.sources import MAX_SECRET_BYTES, checked_value
    from caps.protocol.errors import ProviderError

    _check_name(name)
    if sys.stdin is not None and sys.stdin.isatty():
        value = click.prompt("value", hide_input=True, err=True).encode()
    else:
        value = read_input(STANDARD_INPUT, MAX_SECRET_BYTES + 1)
        value = value.removesuffix(b"\n").removesuffix(b"\r")
    try:
        checked_value(name, value)
    except ProviderError as error:
        fail(error.message, ExitCode.BAD_USAGE)
    owner = _owner(principal)
    _run(url, lambda found: found.put(owner, name, value), writes=True)
    click.echo(f"the secret `{name}` is set")


@secrets.command("list")
@_principal_option
@store_option
@json_option
def list_(principal: str | None, url: str | None, as_json: bool) -> None:
    """Print the names of the secrets, and when they were set."""
    owner = _owner(principal)
    found = _run(url, lambda each: each.names(owner))
    if as_json:
        rows = [
            {
                "name": each.name,
                "created_at": each.created_at.isoformat(),
                "updated_at": each.updated_at.isoformat(),
            }
            for each in found
        ]
        click.echo(json.dumps(rows))
    elif not found:
        click.echo("there are no secrets")
    for each in () if as_json else found:
        click.echo(f"{escape_unprintable(each.name)}  set {each.updated_at:%Y-%m-%d %H:%M:%S}")


@secrets.command()
@click.argument("name")
@_principal_option
@store_option
def delete(name: str, principal: str | None, url: str | None) -> None:
    """Delete the secret NAME."""
    _check_name(name)
    owner = _owner(principal)
    if not _run(url, lambda found: found.delete(owner, name), writes=True):
        fail(f"there is no secret `{name}`", ExitCode.BAD_USAGE)
    click.echo(f"the secret `{name}` is deleted")


def _check_name(name: str) -> None:
    from caps.capabilities.secrets.sources import checked_name

    try:
        checked_name(name)
    except ValueError as error:
        fail(str(error), ExitCode.BAD_USAGE)


def _owner(principal: str | None) -> str:
    from caps.providers.secrets.lookup import EVERYBODY

    if principal == EVERYBODY:
        fail("the principal is empty; leave the option out for everybody", ExitCode.BAD_USAGE)
    return EVERYBODY if principal is None else principal


def _run(url: str | None, work: Callable[[Secrets], T], *, writes: bool = False) -> T:
    """What `work` returns, in one transaction of the store."""
    import anyio

    from caps.store import open_store

    async def main() -> T:
        async with open_store(url) as store:
            from caps.store.repositories.secrets import Secrets
            from caps.store.sealing import load_secret_box

            box = load_secret_box()
            transact = store.write if writes else store.read
            return await transact(lambda connection: work(Secrets(connection, box)))

    with report_errors():
        return anyio.run(main)
