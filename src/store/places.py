"""Where the store is: `CAPS_DATABASE_URL`, else a file in the state directory.

A message never shows a password: it names the kind, the host and the database, and nothing of a
URL that could not be read.
"""

from __future__ import annotations

import string
from pathlib import Path
from typing import Final

import msgspec
from sqlalchemy import exc
from sqlalchemy.engine import URL, make_url

from caps.protocol.disk.store_files import default_store_file
from caps.protocol.environment import Variable
from caps.protocol.errors import ConfigurationError

_POSTGRESQL: Final = frozenset({"postgresql", "postgres", "postgresql+psycopg"})
_HOST_CHARACTERS: Final = frozenset(string.ascii_letters + string.digits + ".-_:%,/")
_EXAMPLES: Final = "`postgresql://user@host/database` or `sqlite:////path/to/caps.db`"


class SqlitePlace(msgspec.Struct, frozen=True):
    """A file of this host."""

    path: Path

    @property
    def shown(self) -> str:
        return str(self.path)


class PostgresPlace(msgspec.Struct, frozen=True):
    """A database of a server. The URL has its password, so it is not part of the `repr`."""

    url: URL
    shown: str

    def __repr__(self) -> str:
        return f"PostgresPlace({self.shown!r})"


Place = SqlitePlace | PostgresPlace


def store_place(given: str | None = None) -> Place:
    """The place that `given`, or else the environment, names. Raises ConfigurationError."""
    text = given or Variable.DATABASE_URL.read()
    if not text:
        return SqlitePlace(default_store_file())
    try:
        url = make_url(text)
    except (exc.ArgumentError, ValueError):
        raise _refusal("is not the URL of a database") from None
    if url.drivername == "sqlite":
        return _sqlite(url)
    if url.drivername in _POSTGRESQL:
        return _postgresql(url)
    raise _refusal("names neither PostgreSQL nor SQLite")


def _sqlite(url: URL) -> SqlitePlace:
    if not url.database or url.database == ":memory:" or not Path(url.database).is_absolute():
        raise _refusal("must name a file of SQLite by its absolute path")
    if url.query:
        raise _refusal("has options, and SQLite takes none here")
    return SqlitePlace(Path(url.database))


def _postgresql(url: URL) -> PostgresPlace:
    # A `@` in a password that is not encoded makes the rest of the password part of the host.
    if not _HOST_CHARACTERS.issuperset(url.host or ""):
        raise _refusal("has an impossible host; encode special characters of a password as `%40`")
    if not url.database:
        raise _refusal("names no database")
    socket = url.query.get("host", "")
    host = url.host or (socket if isinstance(socket, str) else ",".join(socket))
    port = "" if url.port is None else f":{url.port}"
    shown = f"postgresql://{host}{port}/{url.database}"
    return PostgresPlace(url.set(drivername="postgresql+psycopg"), shown)


def _refusal(reason: str) -> ConfigurationError:
    return ConfigurationError(f"{Variable.DATABASE_URL.key} {reason}; write {_EXAMPLES}")
