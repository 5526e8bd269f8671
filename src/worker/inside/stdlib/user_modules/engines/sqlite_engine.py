"""(4) The databases behind `sqlite3` of user space: in memory only, plain values in and out.

Rows are read to the end before a call returns. Functions of the user's that SQL calls run in the
middle of SQLite's work: meanwhile the database refuses every other call, also one by user code
that a collection of garbage runs.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from sqlite3 import (
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
from typing import Any, Final, NamedTuple, TypeVar

from caps.worker.inside.aio.sealed import Sealed
from caps.worker.inside.stdlib.user_modules.engines.plain_values import (
    plain_text,
    refuse_second_init,
)
from caps.worker.inside.stdlib.user_modules.engines.sqlite_rules import refused_action

# What user space gets of this module.
__all__ = [
    "Database",
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
    "sqlite_version",
]
_Result = TypeVar("_Result")
_PLAIN: Final = (type(None), int, float, str, bytes)
_MAX_VALUE_BYTES: Final = 64 << 20
_MAX_ARGUMENTS: Final = 127
_ISOLATION_LEVELS: Final = ("", "DEFERRED", "IMMEDIATE", "EXCLUSIVE")


class Executed(NamedTuple):
    """The outcome of a statement."""

    columns: tuple[str, ...] | None
    rows: list[tuple[Any, ...]]
    changed: int
    last_row: int | None


def plain_value(value: Any) -> Any:
    """`value` if SQLite can hold it as it is; else `ProgrammingError`."""
    if type(value) not in _PLAIN:
        raise ProgrammingError(
            f"Error binding parameter: type '{type(value).__name__}' is not supported"
        )
    return value


def _plain_parameters(values: Any) -> Any:
    if type(values) is tuple:
        return tuple(plain_value(value) for value in values)
    if type(values) is dict:
        return {plain_text(name): plain_value(value) for name, value in values.items()}
    raise ProgrammingError("parameters are of unsupported type")


class Database(metaclass=Sealed):
    """A database in memory."""

    __slots__ = ("_busy", "_connection", "_refused")

    def __init__(self, detect_types: Any, isolation_level: Any) -> None:
        """The arguments are those of `sqlite3.connect`."""
        refuse_second_init(self, "_connection")
        self._busy = False
        self._refused: str | None = None
        connection = self._connection = sqlite3.connect(
            ":memory:",
            detect_types=int(detect_types) & 3,
            isolation_level=_plain_level(isolation_level),
            check_same_thread=False,
        )
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE_BYTES)
        connection.setlimit(sqlite3.SQLITE_LIMIT_WORKER_THREADS, 0)
        connection.set_authorizer(self._authorize)

    def execute(self, sql: Any, parameters: Any) -> Executed:
        """Run one statement; `parameters` is a tuple or dict of plain values."""
        text, values = plain_text(sql), _plain_parameters(parameters)
        return self._run(lambda: _outcome(self._connection.execute(text, values)))

    def execute_many(self, sql: Any, parameters: Any) -> Executed:
        """Run one statement for each item of a list of such parameters."""
        text, values = plain_text(sql), [_plain_parameters(one) for one in list(parameters)]
        return self._run(lambda: _outcome(self._connection.executemany(text, values)))

    def execute_script(self, sql: Any) -> None:
        """Run several statements."""
        text = plain_text(sql)
        self._run(lambda: self._connection.executescript(text).close())

    def commit(self) -> None:
        self._run(self._connection.commit)

    def rollback(self) -> None:
        self._run(self._connection.rollback)

    def close(self) -> None:
        self._run(self._connection.close)

    def backup(self, target: Any) -> None:
        """Copy all into another database."""
        if type(target) is not Database:
            raise TypeError(f"a connection was due, not a `{type(target).__name__}`")
        self._run(lambda: target._run(lambda: self._connection.backup(target._connection)))

    def in_transaction(self) -> bool:
        return self._connection.in_transaction

    def total_changes(self) -> int:
        return self._connection.total_changes

    def set_isolation_level(self, level: Any) -> None:
        plain = _plain_level(level)
        self._run(lambda: setattr(self._connection, "isolation_level", plain))

    def create_function(self, name: Any, count: Any, function: Any, deterministic: Any) -> None:
        """Let SQL call `function`; None removes it."""
        called = None if function is None else _checked(function)
        arguments = (plain_text(name), _argument_count(count), called)
        always = bool(deterministic)
        create = self._connection.create_function
        self._run(lambda: create(*arguments, deterministic=always))

    def create_aggregate(self, name: Any, count: Any, factory: Any) -> None:
        """Let SQL call `step` and `finalize` of the objects that `factory` makes."""
        kind: Any = None if factory is None else _aggregate(factory)
        arguments = (plain_text(name), _argument_count(count), kind)
        self._run(lambda: self._connection.create_aggregate(*arguments))

    def create_collation(self, name: Any, compare: Any) -> None:
        """Let SQL order text by `compare`; None removes the order."""

        def order(first: str, second: str) -> int:
            found = compare(first, second)
            return (found > 0) - (found < 0) if type(found) is int else 0

        plain, called = plain_text(name), None if compare is None else order
        self._run(lambda: self._connection.create_collation(plain, called))

    def _run(self, call: Callable[[], _Result]) -> _Result:
        if self._busy:
            raise ProgrammingError("Recursive use of cursors not allowed.")
        self._busy, self._refused = True, None
        try:
            return call()
        except DatabaseError as error:
            if self._refused is None:
                raise
            raise type(error)(f"{error}: {self._refused}") from None
        finally:
            self._busy = False

    def _authorize(self, action: Any, first: Any, second: Any, *_place: Any) -> int:
        refused = refused_action(action, first, second)
        if refused is None:
            return sqlite3.SQLITE_OK
        self._refused = refused
        return sqlite3.SQLITE_DENY


def _outcome(cursor: sqlite3.Cursor) -> Executed:
    rows = cursor.fetchall()
    found = cursor.description
    columns = None if found is None else tuple(column[0] for column in found)
    outcome = Executed(columns, rows, cursor.rowcount, cursor.lastrowid)
    cursor.close()
    return outcome


def _plain_level(level: Any) -> Any:
    plain = None if level is None else plain_text(level).upper()
    if plain is not None and plain not in _ISOLATION_LEVELS:
        raise ValueError(
            "isolation_level string must be '', 'DEFERRED', 'IMMEDIATE', or 'EXCLUSIVE'"
        )
    return plain


def _argument_count(count: Any) -> int:
    if type(count) is not int or not -1 <= count <= _MAX_ARGUMENTS:
        raise ProgrammingError("bad number of arguments")
    return count


def _checked(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments: plain_value(function(*arguments))


def _aggregate(factory: Callable[[], Any]) -> type:
    class Aggregate:
        def __init__(self) -> None:
            self._object = factory()

        def step(self, *arguments: Any) -> None:
            self._object.step(*arguments)

        def finalize(self) -> Any:
            return plain_value(self._object.finalize())

    return Aggregate
