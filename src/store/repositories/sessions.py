"""Sessions: the owners of files. One for each principal and name."""

from __future__ import annotations

from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec
import sqlalchemy as sa

from caps.store.columns import OrderedText, UtcTime, is_key, metadata, new_id, now, require_key
from caps.store.upsert import insert_unless_present

sessions: Final = sa.Table(
    "sessions",
    metadata,
    sa.Column("id", sa.Uuid, primary_key=True),
    sa.Column("principal", OrderedText, nullable=False),
    sa.Column("name", OrderedText, nullable=False),
    sa.Column("revision", sa.BigInteger, nullable=False),
    sa.Column("created_at", UtcTime, nullable=False),
    sa.Column("updated_at", UtcTime, nullable=False),
    sa.UniqueConstraint("principal", "name"),
)


class StoredSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session that something was stored for."""

    id: UUID
    principal: str
    name: str
    revision: int
    """The number of its changes so far."""
    created_at: datetime
    updated_at: datetime


class Sessions:
    """The repository, within one transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def find(self, principal: str, name: str) -> StoredSession | None:
        """The session, or None if nothing was stored for it."""
        if not (is_key(principal) and is_key(name)):
            return None
        row = self._connection.execute(sa.select(sessions).where(_named(principal, name))).first()
        return None if row is None else StoredSession(**row._asdict())

    def of_principal(self, principal: str) -> list[StoredSession]:
        """All sessions of a principal, the last changed one first."""
        found = sa.select(sessions).where(sessions.c.principal == principal)
        rows = self._connection.execute(found.order_by(sessions.c.updated_at.desc()))
        return [StoredSession(**row._asdict()) for row in rows]

    def page(self, principal: str, *, after: UUID | None, limit: int) -> list[StoredSession]:
        """Sessions of a principal after the one with this id, oldest first."""
        found = sa.select(sessions).where(sessions.c.principal == principal)
        if after is not None:
            found = found.where(sessions.c.id > after)
        rows = self._connection.execute(found.order_by(sessions.c.id).limit(limit))
        return [StoredSession(**row._asdict()) for row in rows]

    def change(self, principal: str, name: str) -> StoredSession:
        """The session with the next revision; it is created if it is absent.

        Writers of one session take turns from here to the end of their transactions. Raises
        ConfigurationError for a name that no database can keep.
        """
        require_key("principal", principal)
        require_key("session", name)
        time = now()
        fresh = {"id": new_id(), "principal": principal, "name": name, "revision": 0}
        insert_unless_present(
            self._connection, sessions, {**fresh, "created_at": time, "updated_at": time}
        )
        changed = sa.update(sessions).where(_named(principal, name))
        changed = changed.values(revision=sessions.c.revision + 1, updated_at=time)
        row = self._connection.execute(changed.returning(*sessions.c)).one()
        return StoredSession(**row._asdict())

    def delete(self, principal: str, name: str) -> bool:
        """Delete the session with everything that belongs to it; False if there was none."""
        done = self._connection.execute(sa.delete(sessions).where(_named(principal, name)))
        return done.rowcount > 0

    def delete_unchanged_since(self, moment: datetime) -> int:
        """Delete the sessions that were last changed before `moment`; return their number."""
        old = sessions.c.updated_at < moment
        return self._connection.execute(sa.delete(sessions).where(old)).rowcount


def _named(principal: str, name: str) -> sa.ColumnElement[bool]:
    return sa.and_(sessions.c.principal == principal, sessions.c.name == name)
