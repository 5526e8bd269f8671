"""SQLite: a transaction is one trip to a thread, with the driver of the standard library.

An asynchronous driver such as `aiosqlite` is a thread, too, and takes a trip for each statement,
each fetch and each commit. Writers take turns here, where waiting costs nothing, and by the lock of
SQLite between processes.

Durability: `synchronous=FULL` syncs the write-ahead log at each commit. What was acknowledged
survives a killed process and a power cut.
"""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path
from typing import Any, Final, TypeVar

import anyio
import anyio.to_thread
import sqlalchemy as sa
from sqlalchemy import event

from caps.store.database import Mode, Work
from caps.store.driver_errors import as_store_errors
from caps.store.errors import StoreError, StoreUnreachableError

T = TypeVar("T")

BUSY_SECONDS: Final = 5.0
_MIGRATION_SECONDS: Final = 60.0
_READERS: Final = 8
_POLL_SECONDS: Final = 0.02
_PRAGMAS: Final = ("foreign_keys = ON", "synchronous = FULL", "trusted_schema = OFF")
_BEGIN: Final = {
    Mode.READ: "BEGIN",
    Mode.WRITE: "BEGIN IMMEDIATE",  # the lock first: a reader that becomes a writer can deadlock
    Mode.MIGRATE: "BEGIN EXCLUSIVE",
}
_MODE: Final = "caps_mode"


class SqliteDatabase:
    """A file. Made by `open_sqlite`."""

    def __init__(self, path: Path) -> None:
        self.shown = str(path)
        self._readers = anyio.CapacityLimiter(_READERS)
        self._writers = anyio.CapacityLimiter(1)
        self._engine = sa.create_engine(
            sa.URL.create("sqlite", database=self.shown),
            connect_args={"timeout": BUSY_SECONDS, "isolation_level": None},
            hide_parameters=True,  # an error may not quote what was stored
            pool_size=_READERS + 1,
            max_overflow=0,
        )
        event.listen(self._engine, "connect", _set_up)
        event.listen(self._engine, "begin", _begin)

    async def transact(self, work: Work[T], mode: Mode) -> T:
        """Not abandoned when the caller is cancelled: it ends soon, and leaves nothing running."""
        limiter = self._readers if mode is Mode.READ else self._writers
        return await anyio.to_thread.run_sync(self._transact, work, mode, limiter=limiter)

    def _transact(self, work: Work[T], mode: Mode) -> T:
        with as_store_errors(self.shown), self._engine.connect() as connection:
            connection.execution_options(**{_MODE: mode})
            with connection.begin():
                return work(connection)

    async def close(self) -> None:
        await anyio.to_thread.run_sync(self._engine.dispose)


async def open_sqlite(path: Path) -> SqliteDatabase:
    """Open the file; create it, readable by its owner only, if it is absent. StoreError."""
    await anyio.to_thread.run_sync(_prepare_file, path)
    return SqliteDatabase(path)


def _prepare_file(path: Path) -> None:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # SQLite gives its other files the mode of this one.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise StoreUnreachableError(f"the store `{path}` cannot be opened: {reason}") from error
    with as_store_errors(str(path)):
        _use_write_ahead_log(path)


def _use_write_ahead_log(path: Path) -> None:
    """It is a property of the file. SQLite does not wait for a lock here, so this does."""
    deadline = time.monotonic() + BUSY_SECONDS
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS)
    try:
        while True:
            try:
                (found,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
                break
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                    raise
                if time.monotonic() > deadline:
                    raise
                time.sleep(_POLL_SECONDS)
    finally:
        connection.close()
    if found != "wal":
        raise StoreError(
            f"the store `{path}` cannot have a write-ahead log; put it on a local disk"
        )


def _set_up(connection: Any, _record: object) -> None:
    for pragma in _PRAGMAS:
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: sa.Connection) -> None:
    mode = connection.get_execution_options().get(_MODE, Mode.READ)
    seconds = _MIGRATION_SECONDS if mode is Mode.MIGRATE else BUSY_SECONDS
    # Past SQLAlchemy, for which a statement is much more work than for SQLite.
    driver: Any = connection.connection.dbapi_connection
    driver.execute(f"PRAGMA busy_timeout = {seconds * 1000:.0f}")
    driver.execute(f"PRAGMA query_only = {mode is Mode.READ}")
    driver.execute(_BEGIN[mode])
