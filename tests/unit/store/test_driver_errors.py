"""What the drivers raise becomes one line, by its code."""

from __future__ import annotations

import sqlite3

import psycopg
import pytest
from psycopg import errors
from sqlalchemy import exc

from caps.store import (
    StoreBusyError,
    StoreError,
    StoreFullError,
    StoreUnreachableError,
)
from caps.store.driver_errors import as_store_errors


def of_sqlite(code: int) -> sqlite3.Error:
    error = sqlite3.OperationalError("secret text")
    error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(
    ("error", "kind", "reason"),
    [
        (of_sqlite(5), StoreBusyError, "is locked"),
        (of_sqlite(517), StoreBusyError, "is locked"),
        (of_sqlite(13), StoreFullError, "no room left"),
        (of_sqlite(14), StoreUnreachableError, "cannot be opened"),
        (of_sqlite(26), StoreUnreachableError, "is not a database"),
        (of_sqlite(8), StoreUnreachableError, "cannot be written"),
        (of_sqlite(11), StoreError, "is damaged"),
        (of_sqlite(778), StoreError, "the disk failed, or is full"),
        (of_sqlite(1), StoreError, "failed (`OperationalError`)"),
        (sqlite3.ProgrammingError("secret text"), StoreError, "failed (`ProgrammingError`)"),
        (errors.DiskFull("secret text"), StoreFullError, "no room left"),
        (errors.LockNotAvailable("secret text"), StoreBusyError, "is locked"),
        (errors.DeadlockDetected("secret text"), StoreBusyError, "in conflict"),
        (errors.QueryCanceled("secret text"), StoreBusyError, "in time"),
        (errors.TooManyConnections("secret text"), StoreBusyError, "too many connections"),
        (errors.InvalidPassword("secret text"), StoreUnreachableError, "the password"),
        (errors.InvalidCatalogName("secret text"), StoreUnreachableError, "does not exist"),
        (errors.InsufficientPrivilege("secret text"), StoreUnreachableError, "the rights"),
        (errors.AdminShutdown("secret text"), StoreUnreachableError, "does not answer"),
        (errors.ConnectionFailure("secret text"), StoreUnreachableError, "does not answer"),
        (psycopg.OperationalError("secret text"), StoreUnreachableError, "does not answer"),
        (errors.UniqueViolation("secret text"), StoreError, "failed (`UniqueViolation`)"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_each_error_has_its_kind(error: Exception, kind: type[StoreError], reason: str) -> None:
    """The text of the driver stays in the cause: it may quote what was stored."""
    base = sqlite3.Error if isinstance(error, sqlite3.Error) else psycopg.Error
    wrapped = exc.DBAPIError.instance("select 1", {}, error, base)
    with pytest.raises(StoreError) as raised, as_store_errors("a-place"):
        raise wrapped
    assert type(raised.value) is kind
    assert reason in raised.value.message
    assert raised.value.message.startswith("the store `a-place` ")
    assert "secret" not in raised.value.message
    assert "a-place" not in kind.for_callers
    assert raised.value.__cause__ is wrapped


def test_a_pool_without_a_free_connection_is_busy() -> None:
    """SQLAlchemy has an error of its own for it."""
    with pytest.raises(StoreBusyError, match="has no connection free"), as_store_errors("x"):
        raise exc.TimeoutError


def test_an_error_of_the_work_itself_is_not_changed() -> None:
    """It is no error of the store."""
    with pytest.raises(KeyError), as_store_errors("x"):
        raise KeyError("a")
