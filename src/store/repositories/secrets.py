"""Secrets: values that are sealed in the database. Who may use one is a matter of policies."""

from __future__ import annotations

from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec
import sqlalchemy as sa

from caps.store.columns import OrderedText, UtcTime, metadata, new_id, now, require_key
from caps.store.sealing import SealedSecret, SecretBox
from caps.store.upsert import insert_or_update

secrets: Final = sa.Table(
    "secrets",
    metadata,
    sa.Column("id", sa.Uuid, primary_key=True),
    sa.Column("owner", OrderedText, nullable=False),
    sa.Column("name", OrderedText, nullable=False),
    sa.Column("ciphertext", sa.LargeBinary, nullable=False),
    sa.Column("nonce", sa.LargeBinary, nullable=False),
    sa.Column("key_id", sa.Text, nullable=False),
    sa.Column("created_at", UtcTime, nullable=False),
    sa.Column("updated_at", UtcTime, nullable=False),
    sa.UniqueConstraint("owner", "name"),
)
_DESCRIBED: Final = [secrets.c[name] for name in ("id", "name", "created_at", "updated_at")]


class SecretName(msgspec.Struct, frozen=True, kw_only=True):
    """What may be shown of a secret."""

    id: UUID
    name: str
    created_at: datetime
    updated_at: datetime


class Secrets:
    """The repository, within one transaction; `box` has the key."""

    def __init__(self, connection: sa.Connection, box: SecretBox) -> None:
        self._connection = connection
        self._box = box

    def put(self, owner: str, name: str, value: bytes) -> None:
        """Create or replace a secret. Raises ConfigurationError for a name that is too long."""
        require_key("owner", owner)
        require_key("secret", name)
        time = now()
        row = {
            "id": new_id(),
            "owner": owner,
            "name": name,
            **msgspec.structs.asdict(self._box.seal(owner, name, value)),
            "created_at": time,
            "updated_at": time,
        }
        insert_or_update(
            self._connection, secrets, row, ("owner", "name"), kept=("id", "created_at")
        )

    def reveal(self, owner: str, name: str) -> bytes | None:
        """The value; None if there is no such secret. Raises StoreError if it does not open."""
        columns = [secrets.c[field] for field in SealedSecret.__struct_fields__]
        row = self._connection.execute(sa.select(*columns).where(_named(owner, name))).first()
        return None if row is None else self._box.open(owner, name, SealedSecret(*row))

    def names(self, owner: str) -> list[SecretName]:
        """The secrets of an owner by name, without their values."""
        found = sa.select(*_DESCRIBED).where(secrets.c.owner == owner).order_by(secrets.c.name)
        return [SecretName(**row._asdict()) for row in self._connection.execute(found)]

    def delete(self, owner: str, name: str) -> bool:
        """False if there was no such secret."""
        return self._connection.execute(sa.delete(secrets).where(_named(owner, name))).rowcount > 0


def _named(owner: str, name: str) -> sa.ColumnElement[bool]:
    return sa.and_(secrets.c.owner == owner, secrets.c.name == name)
