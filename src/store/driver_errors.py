"""The errors of the two drivers, as errors of the store: by their codes, where they have one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from sqlalchemy import exc

from caps.store.errors import (
    StoreBusyError,
    StoreError,
    StoreFullError,
    StoreUnreachableError,
)

_BUSY: Final = "is locked by another process or transaction; try again"
_FULL: Final = "has no room left on its disk"

# The primary codes of SQLite; the rest of a code says more than a caller needs.
_SQLITE: Final[dict[int, tuple[type[StoreError], str]]] = {
    sqlite3.SQLITE_BUSY: (StoreBusyError, _BUSY),
    sqlite3.SQLITE_LOCKED: (StoreBusyError, _BUSY),
    sqlite3.SQLITE_FULL: (StoreFullError, _FULL),
    sqlite3.SQLITE_CANTOPEN: (StoreUnreachableError, "cannot be opened"),
    sqlite3.SQLITE_PERM: (StoreUnreachableError, "is not open to this process"),
    sqlite3.SQLITE_READONLY: (StoreUnreachableError, "cannot be written by this process"),
    sqlite3.SQLITE_NOTADB: (StoreUnreachableError, "is not a database of SQLite"),
    sqlite3.SQLITE_CORRUPT: (StoreError, "is damaged; restore a backup of it"),
    sqlite3.SQLITE_IOERR: (StoreError, "cannot be read or written: the disk failed, or is full"),
}
# SQLSTATEs of PostgreSQL, and the first two letters of a class of them.
_POSTGRESQL: Final[dict[str, tuple[type[StoreError], str]]] = {
    "40": (StoreBusyError, "had two transactions in conflict; try again"),
    "53100": (StoreFullError, _FULL),
    "53300": (StoreBusyError, "has too many connections; try again"),
    "55P03": (StoreBusyError, _BUSY),
    "57014": (StoreBusyError, "did not answer in time; try again"),
    "28": (StoreUnreachableError, "refuses the user or the password"),
    "3D": (StoreUnreachableError, "does not exist on its server"),
    "42501": (StoreUnreachableError, "does not give this user the rights on its tables"),
    "25006": (StoreUnreachableError, "is read-only: a standby, or set so by its operator"),
}
_NO_ANSWER: Final = (StoreUnreachableError, "does not answer")


@contextmanager
def as_store_errors(shown: str) -> Iterator[None]:
    """Turn what SQLAlchemy and the drivers raise about the place `shown` into a StoreError."""
    try:
        yield
    except exc.TimeoutError as error:  # the pool has no connection
        raise _made((StoreBusyError, "has no connection free; try again"), shown) from error
    except (exc.SQLAlchemyError, sqlite3.Error) as error:
        raise _made(_kind(error), shown) from error


def _made(found: tuple[type[StoreError], str], shown: str) -> StoreError:
    kind, reason = found
    return kind(f"the store `{shown}` {reason}")


def _kind(error: Exception) -> tuple[type[StoreError], str]:
    cause = error.orig if isinstance(error, exc.DBAPIError) else error
    failed = (StoreError, f"failed (`{type(cause).__name__}`)")
    if isinstance(cause, sqlite3.Error):
        code = getattr(cause, "sqlite_errorcode", None)
        return failed if code is None else _SQLITE.get(code & 0xFF, failed)
    state = getattr(cause, "sqlstate", None)
    if state is not None:
        return _POSTGRESQL.get(state) or _POSTGRESQL.get(state[:2]) or _by_class(state, failed)
    # libpq gives no code while there is no connection, but for a refused sign-in also no text of
    # its own: the server's text says which.
    if isinstance(error, exc.OperationalError):
        return _sign_in(cause) or _NO_ANSWER
    return failed


def _by_class(state: str, failed: tuple[type[StoreError], str]) -> tuple[type[StoreError], str]:
    # Connection exceptions, and a server that shuts down or starts.
    return _NO_ANSWER if state[:2] in ("08", "57") else failed


def _sign_in(cause: BaseException | None) -> tuple[type[StoreError], str] | None:
    text = str(cause)
    if "authentication failed" in text or "no password supplied" in text:
        return _POSTGRESQL["28"]
    if "FATAL:" in text and "does not exist" in text:
        return _POSTGRESQL["3D"]
    return None
