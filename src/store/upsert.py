"""The two statements that SQLAlchemy writes differently for the two databases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite


def insert_unless_present(
    connection: sa.Connection, table: sa.Table, rows: Mapping[str, Any] | Sequence[dict[str, Any]]
) -> None:
    """Insert a row, or rows; one whose key is taken is left as it is."""
    connection.execute(_insert(connection, table).on_conflict_do_nothing(), rows)


def insert_or_update(
    connection: sa.Connection,
    table: sa.Table,
    row: Mapping[str, Any],
    key: Sequence[str],
    *,
    kept: Sequence[str] = (),
) -> None:
    """Insert a row; if its `key` is taken, replace all its other columns but those in `kept`."""
    made = _insert(connection, table)
    changed = {name: made.excluded[name] for name in row if name not in (*key, *kept)}
    connection.execute(made.on_conflict_do_update(index_elements=list(key), set_=changed), row)


def _insert(connection: sa.Connection, table: sa.Table) -> sqlite.Insert | postgresql.Insert:
    made = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    return made(table)
