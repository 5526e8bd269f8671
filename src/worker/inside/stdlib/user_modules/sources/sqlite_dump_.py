"""The text of a database for `sqlite3` of user space: what `Connection.iterdump` yields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_TABLES = """SELECT name, sql FROM sqlite_master
    WHERE sql NOT NULL AND type = 'table' ORDER BY name"""
_OTHERS = """SELECT sql FROM sqlite_master
    WHERE sql NOT NULL AND type IN ('index', 'trigger', 'view')"""


def dump(connection: Any) -> Iterator[str]:
    """Each statement that makes the database again."""
    cursor = connection.cursor()
    cursor.row_factory = None
    yield "BEGIN TRANSACTION;"
    sequences: list[str] = []
    for name, sql in cursor.execute(_TABLES).fetchall():
        if name == "sqlite_sequence":
            rows = cursor.execute("SELECT name, seq FROM sqlite_sequence").fetchall()
            sequences = ['DELETE FROM "sqlite_sequence";']
            sequences += [
                f"INSERT INTO \"sqlite_sequence\" VALUES('{one}',{seq});" for one, seq in rows
            ]
            continue
        if name == "sqlite_stat1":
            yield 'ANALYZE "sqlite_master";'
        elif name.startswith("sqlite_"):
            continue
        else:
            yield f"{sql};"
        yield from _rows(cursor, _escaped(name))
    for (sql,) in cursor.execute(_OTHERS).fetchall():
        yield f"{sql};"
    yield from sequences
    yield "COMMIT;"


def _rows(cursor: Any, table: str) -> Iterator[str]:
    columns = [_escaped(str(one[1])) for one in cursor.execute(f'PRAGMA table_info("{table}")')]
    if not columns:
        return
    values = "||','||".join(f'quote("{column}")' for column in columns)
    for (text,) in cursor.execute(f'SELECT {values} FROM "{table}"').fetchall():  # noqa: S608
        yield f'INSERT INTO "{table}" VALUES({text});'


def _escaped(name: str) -> str:
    return name.replace('"', '""')
