"""`sqlite3` of user space: databases in memory. `engines.sqlite_engine` runs the SQL."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from caps.worker.inside.stdlib.user_modules.engines.sqlite_engine import (
    Database,
    DatabaseError,
    DataError,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    Warning,  # noqa: A004 - the library's name
    complete_statement,
    sqlite_version,
)
from caps.worker.inside.stdlib.user_modules.sources.sqlite_dump_ import dump

PARSE_DECLTYPES = 1
PARSE_COLNAMES = 2
apilevel = "2.0"
paramstyle = "qmark"
threadsafety = 1
sqlite_version_info = tuple(int(part) for part in sqlite_version.split("."))
Binary = memoryview
Date = dt.date
Time = dt.time
Timestamp = dt.datetime
_NO_FILES = 'only ":memory:" can be opened here; there are no files'
_UNBOUND = "Cannot operate on a closed database."

_adapters: dict[type, Callable[[Any], Any]] = {
    dt.date: lambda value: value.isoformat(),
    dt.datetime: lambda value: value.isoformat(" "),
}

__all__ = [
    "DataError",
    "DatabaseError",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "Warning",
    "complete_statement",
]


def DateFromTicks(ticks: float) -> dt.date:  # noqa: N802 - the library's name
    return Date(*time.localtime(ticks)[:3])


def TimeFromTicks(ticks: float) -> dt.time:  # noqa: N802 - the library's name
    return Time(*time.localtime(ticks)[3:6])


def TimestampFromTicks(ticks: float) -> dt.datetime:  # noqa: N802 - the library's name
    return Timestamp(*time.localtime(ticks)[:6])


def register_adapter(kind: type, adapter: Callable[[Any], Any], /) -> None:
    """Have values of this class stored as what `adapter` gives."""
    _adapters[kind] = adapter


def register_converter(*_arguments: Any) -> None:
    raise NotSupportedError("converters are not offered here; convert the values in Python")


def adapt(value: Any, *_protocol: Any) -> Any:
    """The value that is stored for `value`."""
    kind = type(value)
    if kind in _adapters:
        return adapt(_adapters[kind](value))
    for plain in (int, float, str):
        if isinstance(value, plain):
            # An integer or a string of a class of its own is stored as the plain one.
            return value if kind is plain else plain(value)
    return bytes(value) if isinstance(value, bytes | bytearray | memoryview) else value


def _parameters(values: Any) -> Any:
    if isinstance(values, Mapping):
        return {name: adapt(value) for name, value in values.items()}
    if isinstance(values, list | tuple) or hasattr(values, "__getitem__"):
        return tuple(adapt(value) for value in values)
    raise ProgrammingError("parameters are of unsupported type")


class Row:
    """A row whose items have the names of their columns, in any case."""

    def __init__(self, cursor: Cursor, values: tuple[Any, ...]) -> None:
        self._names = [column[0] for column in cursor.description or ()]
        self._values = values

    def keys(self) -> list[str]:
        return list(self._names)

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return self._values[key]
        for name, value in zip(self._names, self._values, strict=True):
            if name.lower() == key.lower():
                return value
        raise IndexError("No item with that key")

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Row):
            return NotImplemented
        return self._names == other._names and self._values == other._values

    def __hash__(self) -> int:
        return hash((tuple(self._names), self._values))

    def __repr__(self) -> str:
        return f"<sqlite3.Row object at {hex(id(self))}>"


class Cursor:
    """Runs statements, and holds the rows of the last one."""

    arraysize = 1

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.row_factory = connection.row_factory
        self.description: tuple[tuple[Any, ...], ...] | None = None
        self.rowcount = -1
        self.lastrowid: int | None = None
        self._rows: Iterator[tuple[Any, ...]] = iter(())
        self._closed = False

    def execute(self, sql: str, parameters: Any = (), /) -> Cursor:
        return self._take(self._engine().execute(sql, _parameters(parameters)))

    def executemany(self, sql: str, parameters: Iterable[Any], /) -> Cursor:
        every = [_parameters(one) for one in parameters]
        return self._take(self._engine().execute_many(sql, every))

    def executescript(self, sql: str, /) -> Cursor:
        self._engine().execute_script(sql)
        self.description, self._rows = None, iter(())
        return self

    def fetchone(self) -> Any:
        return next(self, None)

    def fetchmany(self, size: int | None = None) -> list[Any]:
        count = self.arraysize if size is None else size
        return [row for row, _ in zip(self, range(count), strict=False)] if count > 0 else []

    def fetchall(self) -> list[Any]:
        return list(self)

    def close(self) -> None:
        self._rows, self._closed = iter(()), True

    def setinputsizes(self, sizes: Any, /) -> None: ...

    def setoutputsize(self, size: Any, column: Any = None, /) -> None: ...

    def __iter__(self) -> Cursor:
        return self

    def __next__(self) -> Any:
        self._engine()
        row = next(self._rows)
        text = self.connection.text_factory
        if text is not str:
            row = tuple(text(one.encode()) if isinstance(one, str) else one for one in row)
        return row if self.row_factory is None else self.row_factory(self, row)

    def _engine(self) -> Database:
        if self._closed:
            raise ProgrammingError("Cannot operate on a closed cursor.")
        return self.connection._engine()

    def _take(self, executed: Any) -> Cursor:
        columns = executed.columns
        none = (None,) * 6
        self.description = None if columns is None else tuple((name, *none) for name in columns)
        self._rows = iter(executed.rows)
        self.rowcount = executed.changed
        if executed.last_row is not None:
            self.lastrowid = executed.last_row
        return self


class Connection:
    """A database in memory."""

    def __init__(
        self,
        database: str,
        timeout: float = 5.0,
        detect_types: int = 0,
        isolation_level: str | None = "",
        *_others: Any,
        **_options: Any,
    ) -> None:
        del timeout
        if database != ":memory:":
            raise OperationalError(f"unable to open database file: {_NO_FILES}")
        self.row_factory: Callable[[Cursor, tuple[Any, ...]], Any] | None = None
        self.text_factory: Callable[[bytes], Any] = str
        self._isolation_level = isolation_level
        self._database: Database | None = Database(detect_types, isolation_level)

    def _engine(self) -> Database:
        if self._database is None:
            raise ProgrammingError(_UNBOUND)
        return self._database

    @property
    def isolation_level(self) -> str | None:
        return self._isolation_level

    @isolation_level.setter
    def isolation_level(self, level: str | None) -> None:
        self._engine().set_isolation_level(level)
        self._isolation_level = level

    @property
    def in_transaction(self) -> bool:
        return self._engine().in_transaction()

    @property
    def total_changes(self) -> int:
        return self._engine().total_changes()

    def cursor(self, factory: Callable[[Connection], Any] = Cursor) -> Any:
        self._engine()
        return factory(self)

    def execute(self, sql: str, parameters: Any = (), /) -> Any:
        return self.cursor().execute(sql, parameters)

    def executemany(self, sql: str, parameters: Iterable[Any], /) -> Any:
        return self.cursor().executemany(sql, parameters)

    def executescript(self, sql: str, /) -> Any:
        return self.cursor().executescript(sql)

    def commit(self) -> None:
        self._engine().commit()

    def rollback(self) -> None:
        self._engine().rollback()

    def close(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None

    def backup(self, target: Connection, **_options: Any) -> None:
        self._engine().backup(target._engine())

    def iterdump(self) -> Iterator[str]:
        """The database as SQL, as the library writes it, without `filter` and virtual tables."""
        return dump(self)

    def create_function(
        self, name: str, narg: int, func: Any, *, deterministic: bool = False
    ) -> None:
        self._engine().create_function(name, narg, func, deterministic)

    def create_aggregate(self, name: str, n_arg: int, aggregate_class: Any) -> None:
        self._engine().create_aggregate(name, n_arg, aggregate_class)

    def create_collation(self, name: str, callback: Any) -> None:
        self._engine().create_collation(name, callback)

    def __enter__(self) -> Connection:
        self._engine()
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is None:
            self.commit()
        else:
            self.rollback()


def connect(database: str, *arguments: Any, factory: Any = Connection, **options: Any) -> Any:
    """Open a database: `connect(":memory:")`."""
    return factory(database, *arguments, **options)
