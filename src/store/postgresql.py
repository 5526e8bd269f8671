"""PostgreSQL: psycopg's asynchronous driver and a pool of connections.

The same functions as on SQLite run here on the event loop: SQLAlchemy suspends them at each
statement. When the caller is cancelled, the statement is cancelled on the server and the
transaction is rolled back.

Durability: `synchronous_commit=on`, whatever the server's default is.
"""

from __future__ import annotations

import asyncio
from typing import Final, TypeVar

import anyio
import sniffio
from sqlalchemy.engine import URL
from sqlalchemy.ext.asyncio import create_async_engine

from caps.protocol.errors import ConfigurationError
from caps.store.database import Mode, Work
from caps.store.driver_errors import as_store_errors
from caps.store.places import PostgresPlace

T = TypeVar("T")

_CONNECTIONS: Final = 8
_POOL_SECONDS: Final = 10.0
_CONNECT_SECONDS: Final = 10
_SETTINGS: Final = {
    "synchronous_commit": "on",
    "timezone": "UTC",
    "lock_timeout": "5s",
    "statement_timeout": "30s",
    "idle_in_transaction_session_timeout": "60s",
}


class PostgresDatabase:
    """A database of a server. Connections are made when they are first needed."""

    def __init__(self, place: PostgresPlace) -> None:
        self.shown = place.shown
        self._engine = create_async_engine(
            _with_settings(place.url),
            connect_args={"connect_timeout": _CONNECT_SECONDS, "client_encoding": "utf8"},
            hide_parameters=True,  # an error may not quote what was stored
            pool_size=_CONNECTIONS,
            max_overflow=0,
            pool_timeout=_POOL_SECONDS,
            pool_pre_ping=True,  # a server that was restarted costs no call
        )

    async def transact(self, work: Work[T], mode: Mode) -> T:
        # A task of its own: a cancel scope of anyio cancels again at each await, and so would
        # interrupt the clean-up, too. The task is cancelled once, and then has its time.
        task = asyncio.create_task(self._transact(work, mode))
        try:
            return await asyncio.shield(task)
        finally:
            if not task.done():
                task.cancel()
                with anyio.CancelScope(shield=True):
                    await asyncio.wait([task])

    async def _transact(self, work: Work[T], mode: Mode) -> T:
        reads = mode is Mode.READ
        with as_store_errors(self.shown):
            async with self._engine.connect() as connection:
                await connection.execution_options(
                    isolation_level="REPEATABLE READ" if reads else "READ COMMITTED",
                    postgresql_readonly=reads,
                )
                async with connection.begin():
                    return await connection.run_sync(work)

    async def close(self) -> None:
        await self._engine.dispose()


async def open_postgresql(place: PostgresPlace) -> PostgresDatabase:
    """Raises ConfigurationError on trio, which the driver does not support."""
    if sniffio.current_async_library() != "asyncio":
        raise ConfigurationError(
            "the store on PostgreSQL needs asyncio; run the program on it, or use SQLite"
        )
    return PostgresDatabase(place)


def _with_settings(url: URL) -> URL:
    """The URL with our settings before its own `options`, which may override them."""
    own = url.query.get("options", ())
    settings = [f"-c {name}={value}" for name, value in _SETTINGS.items()]
    options = " ".join([*settings, *((own,) if isinstance(own, str) else own)])
    return url.update_query_dict({"options": options})
