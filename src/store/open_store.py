"""Opening the store: the place, the connection, the migrations.

`open_store` is what a provider passes to `context.resource`: the runtime opens the store on first
use, shares it between calls, and closes it when it closes.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

import anyio

from caps.protocol.errors import ConfigurationError

if TYPE_CHECKING:
    from caps.store.database import Database, Store

_LIBRARIES: Final = ("alembic", "greenlet", "psycopg", "sqlalchemy")


@asynccontextmanager
async def open_store(url: str | None = None) -> AsyncIterator[Store]:
    """The store at `url`, by default that of `CAPS_DATABASE_URL`, else the user's own file.

    Its tables are migrated if they are older. Raises ConfigurationError for a URL that names no
    store and without the extra `store`, SchemaNewerError, and the other StoreErrors.
    """
    async with open_database(url) as database:
        from caps.store.database import Mode, Store
        from caps.store.migrate import needs_upgrade, upgrade

        shown = database.shown
        if await database.transact(lambda found: needs_upgrade(found, shown), Mode.READ):
            await database.transact(lambda found: upgrade(found, shown), Mode.MIGRATE)
        yield Store(database)


def require_libraries() -> None:
    """Raise ConfigurationError without the extra `store`."""
    # Only looked for: a store that needs no migration loads no Alembic.
    if any(find_spec(name) is None for name in _LIBRARIES):
        raise ConfigurationError("the store needs the extra `store`; install `caps-runtime[store]`")


@asynccontextmanager
async def open_database(url: str | None = None) -> AsyncIterator[Database]:
    """The database of the store, whatever its tables are: for `caps db`."""
    require_libraries()
    from caps.store.places import SqlitePlace, store_place

    place = store_place(url)
    database: Database
    if isinstance(place, SqlitePlace):
        from caps.store.sqlite import open_sqlite

        database = await open_sqlite(place.path)
    else:
        from caps.store.postgresql import open_postgresql

        database = await open_postgresql(place)
    try:
        yield database
    finally:
        with anyio.CancelScope(shield=True):  # also if the program is being cancelled
            await database.close()
