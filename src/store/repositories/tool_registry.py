"""Tool cards: signed descriptions of tools, one row for each name and version.

Nothing here checks a card; `caps.agents.tool_cards` does, whenever it reads one.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

import msgspec
import sqlalchemy as sa

from caps.store.columns import OrderedText, UtcTime, Words, metadata, now
from caps.store.upsert import insert_unless_present

tool_registry: Final = sa.Table(
    "tool_registry",
    metadata,
    sa.Column("name", OrderedText, primary_key=True),
    sa.Column("version", OrderedText, primary_key=True),
    sa.Column("description", sa.Text, nullable=False),
    sa.Column("agent_type", OrderedText, nullable=False),
    sa.Column("input_schema", sa.Text, nullable=False),
    sa.Column("output_schema", sa.Text, nullable=False),
    sa.Column("cost_estimate", sa.Double, nullable=True),
    sa.Column("side_effects", Words, nullable=False),
    sa.Column("checksum", sa.Text, nullable=False),
    sa.Column("signature", sa.Text, nullable=False),
    sa.Column("key_id", sa.Text, nullable=False),
    sa.Column("alg", sa.Text, nullable=False),
    sa.Column("created_at", UtcTime, nullable=False),
    sa.Column("updated_at", UtcTime, nullable=False),
)


class CardRow(msgspec.Struct, frozen=True, kw_only=True):
    """A card as it is stored; the schemas are JSON texts."""

    name: str
    version: str
    description: str
    agent_type: str
    input_schema: str
    output_schema: str
    cost_estimate: float | None
    side_effects: tuple[str, ...]
    checksum: str
    signature: str
    key_id: str
    alg: str


class StoredCard(CardRow, frozen=True, kw_only=True):
    """The same with its times."""

    created_at: datetime
    updated_at: datetime


class ToolRegistry:
    """The repository, within one transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def find(self, name: str, version: str) -> StoredCard | None:
        """The card of this name and version."""
        found = self._connection.execute(_all().where(_named(name, version))).first()
        return None if found is None else StoredCard(**found._asdict())

    def cards(self, name: str | None = None) -> list[StoredCard]:
        """All cards, or those of one name: by name, the oldest version first."""
        wanted = _all() if name is None else _all().where(tool_registry.c.name == name)
        by = (tool_registry.c.name, tool_registry.c.created_at, tool_registry.c.version)
        rows = self._connection.execute(wanted.order_by(*by))
        return [StoredCard(**row._asdict()) for row in rows]

    def page(self, after: tuple[str, str] | None, limit: int) -> list[StoredCard]:
        """Cards by name and version, those after this name and version."""
        by = (tool_registry.c.name, tool_registry.c.version)
        wanted = _all().order_by(*by).limit(limit)
        if after is not None:
            wanted = wanted.where(sa.tuple_(*by) > sa.tuple_(*map(sa.literal, after)))
        return [StoredCard(**row._asdict()) for row in self._connection.execute(wanted)]

    def add(self, card: CardRow) -> None:
        """Add the card, unless there is one of its name and version already."""
        time = now()
        row = {**msgspec.structs.asdict(card), "created_at": time, "updated_at": time}
        insert_unless_present(self._connection, tool_registry, row)

    def replace(self, card: CardRow) -> None:
        """Change the row of this name and version to `card`."""
        row = {**msgspec.structs.asdict(card), "updated_at": now()}
        changed = sa.update(tool_registry).where(_named(card.name, card.version))
        self._connection.execute(changed.values(row))


def _all() -> sa.Select[tuple[object, ...]]:
    return sa.select(*(tool_registry.c[field] for field in StoredCard.__struct_fields__))


def _named(name: str, version: str) -> sa.ColumnElement[bool]:
    return sa.and_(tool_registry.c.name == name, tool_registry.c.version == version)
