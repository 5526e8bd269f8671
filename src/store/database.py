"""A database as the store uses it: one transaction at a time, as a function of its connection.

The function is plain SQLAlchemy Core, and the same on both databases. It may be stopped at any
point: nothing of a transaction is kept before it is committed.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Protocol, TypeVar

from sqlalchemy import Connection

T = TypeVar("T")

Work = Callable[[Connection], T]
"""One transaction. It must do nothing but use the connection: it may run in a thread."""


class Mode(enum.Enum):
    READ = "read"
    """Sees one state of the database, and changes nothing."""
    WRITE = "write"
    MIGRATE = "migrate"
    """Alone, and with patience: another process may be migrating."""


class Database(Protocol):
    """SQLite or PostgreSQL."""

    shown: str
    """Its place, fit for messages to operators."""

    async def transact(self, work: Work[T], mode: Mode) -> T:
        """Run `work` in one transaction; it is committed when this returns. StoreError."""

    async def close(self) -> None:
        """Close all connections."""


class Store:
    """An open store whose tables are those that this version of Caps knows.

    `await store.read(lambda connection: Sessions(connection).find(principal, name))`
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.shown = database.shown

    async def read(self, work: Work[T]) -> T:
        """What `work` returns, from one state of the database. Raises StoreError."""
        return await self._database.transact(work, Mode.READ)

    async def write(self, work: Work[T]) -> T:
        """What `work` returns, once its changes are durable. Raises StoreError.

        If `work` raises, nothing is changed.
        """
        return await self._database.transact(work, Mode.WRITE)
