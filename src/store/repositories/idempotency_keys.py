"""Keys of requests that create something: a repeat of the request finds what the first created.

A key belongs to a principal and is kept for a day. It is claimed in the transaction that creates,
so of two requests at once one creates, and the other waits and finds it.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

import msgspec
import sqlalchemy as sa

from caps.store.columns import OrderedText, UtcTime, metadata, now
from caps.store.upsert import insert_unless_present

KEPT: Final = timedelta(days=1)

idempotency_keys: Final = sa.Table(
    "idempotency_keys",
    metadata,
    sa.Column("principal", OrderedText, primary_key=True),
    sa.Column("key", OrderedText, primary_key=True),
    sa.Column("fingerprint", sa.Text, nullable=False),
    sa.Column("resource", sa.Text, nullable=False),
    sa.Column("created_at", UtcTime, nullable=False),
    sa.Index(None, "created_at"),
)
_columns = idempotency_keys.c


class IdempotencyKey(msgspec.Struct, frozen=True, kw_only=True):
    """A key, the digest of its request, and the id of what the request created."""

    principal: str
    key: str
    fingerprint: str
    resource: str
    created_at: datetime


class IdempotencyKeys:
    """The repository, within one transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def claim(self, principal: str, key: str, fingerprint: str, resource: str) -> IdempotencyKey:
        """The key as it is kept: with `resource` if it was free, else that of the first claim."""
        time = now()
        self._connection.execute(
            sa.delete(idempotency_keys).where(_columns.created_at < time - KEPT)
        )
        wanted = IdempotencyKey(
            principal=principal,
            key=key,
            fingerprint=fingerprint,
            resource=resource,
            created_at=time,
        )
        insert_unless_present(self._connection, idempotency_keys, msgspec.structs.asdict(wanted))
        found = sa.select(idempotency_keys).where(
            _columns.principal == principal, _columns.key == key
        )
        return IdempotencyKey(**self._connection.execute(found).one()._asdict())
