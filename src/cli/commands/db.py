"""`caps db`: the tables of the store. A program that needs the store migrates it by itself."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

import click

from caps.cli.exits import ExitCode, report_errors
from caps.cli.options import json_option, store_option

if TYPE_CHECKING:
    from caps.store.database import Database

T = TypeVar("T")


@click.group()
def db() -> None:
    """Show, migrate and check the tables of the store."""


@db.command()
@store_option
@json_option
def upgrade(url: str | None, as_json: bool) -> None:
    """Migrate the tables to the version that this program needs."""

    async def work(database: Database) -> tuple[str | None, str]:
        from caps.store.database import Mode
        from caps.store.migrate import upgrade as migrate

        return await database.transact(
            functools.partial(migrate, shown=database.shown), Mode.MIGRATE
        )

    before, after = _run(work, url)
    if as_json:
        click.echo(json.dumps({"before": before, "after": after}))
    elif before == after:
        click.echo(f"the schema is {after} already")
    else:
        click.echo(f"the schema was {before or 'empty'} and is {after} now")


@db.command()
@store_option
@json_option
def current(url: str | None, as_json: bool) -> None:
    """Print the version of the tables, and the one that this program needs."""

    async def work(database: Database) -> tuple[str | None, str]:
        from caps.store.database import Mode
        from caps.store.migrate import current_version, newest_version

        return await database.transact(current_version, Mode.READ), newest_version()

    found, needed = _missing(url) or _run(work, url)
    if as_json:
        click.echo(json.dumps({"current": found, "needed": needed}))
    else:
        click.echo(f"{found or 'empty'} (needed: {needed})")


@db.command()
@store_option
@json_option
def check(url: str | None, as_json: bool) -> None:
    """Compare the tables with those that this program needs; exit with 7 if they differ."""

    async def work(database: Database) -> list[str]:
        from caps.store.database import Mode
        from caps.store.migrate import problems

        return await database.transact(functools.partial(problems, shown=database.shown), Mode.READ)

    found = _run(work, url)
    if as_json:
        click.echo(json.dumps({"problems": found}))
    else:
        click.echo("\n".join(found) or "the store is as it should be")
    sys.exit(ExitCode.FOUND if found else ExitCode.OK)


def _run(work: Callable[[Database], Awaitable[T]], url: str | None) -> T:
    import anyio

    from caps.store.open_store import open_database

    async def main() -> T:
        async with open_database(url) as database:
            return await work(database)

    with report_errors():
        return anyio.run(main)


def _missing(url: str | None) -> tuple[None, str] | None:
    """The versions of a SQLite store that does not exist yet: to ask for them creates nothing."""
    from caps.store.open_store import require_libraries

    with report_errors():
        require_libraries()
        from caps.store.migrate import newest_version
        from caps.store.places import SqlitePlace, store_place

        place = store_place(url)
    if isinstance(place, SqlitePlace) and not place.path.exists():
        return None, newest_version()
    return None
