"""Calls that wait for the approval of a person, and the answers. One answer counts: the first.

What a request and an answer say is not known here; both are texts of JSON objects.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Final

import msgspec
import sqlalchemy as sa

from caps.store.columns import OrderedText, UtcTime, metadata, now

approvals: Final = sa.Table(
    "approvals",
    metadata,
    sa.Column("id", OrderedText, primary_key=True),
    sa.Column("principal", OrderedText, nullable=False),
    sa.Column("instance", OrderedText, nullable=False),
    sa.Column("request", sa.Text, nullable=False),
    sa.Column("asked_at", UtcTime, nullable=False),
    sa.Column("expires_at", UtcTime, nullable=False),
    sa.Column("answer", sa.Text),
    sa.Index(None, "asked_at", "id"),
)
_columns = approvals.c
# A clock of another instance may be late.
_LEFT_OVER: Final = timedelta(hours=1)


class StoredApproval(msgspec.Struct, frozen=True, kw_only=True):
    """One call that waits."""

    id: str
    principal: str
    instance: str
    """The service in which the call waits."""
    request: str
    asked_at: datetime
    expires_at: datetime
    answer: str | None = None


class Approvals:
    """The repository, within one transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def add(self, approval: StoredApproval) -> None:
        self._connection.execute(sa.insert(approvals).values(msgspec.structs.asdict(approval)))

    def remove(self, approval_id: str) -> None:
        self._connection.execute(sa.delete(approvals).where(_columns.id == approval_id))

    def clear(self, instance: str) -> None:
        """Remove what this service left behind, and what expired long ago anywhere."""
        over = sa.or_(_columns.instance == instance, _columns.expires_at < now() - _LEFT_OVER)
        self._connection.execute(sa.delete(approvals).where(over))

    def pending(
        self, principal: str | None, *, after: tuple[datetime, str] | None, limit: int
    ) -> list[StoredApproval]:
        """Those without an answer that have not expired, oldest first; of all without a name."""
        by = (_columns.asked_at, _columns.id)
        wanted = _waiting().order_by(*by).limit(limit)
        if principal is not None:
            wanted = wanted.where(_columns.principal == principal)
        if after is not None:
            at, last = after
            same = sa.and_(_columns.asked_at == at, _columns.id > last)
            wanted = wanted.where(sa.or_(_columns.asked_at > at, same))
        return [StoredApproval(**row._asdict()) for row in self._connection.execute(wanted)]

    def find(self, approval_id: str) -> StoredApproval | None:
        """One that has not expired, with or without an answer."""
        wanted = sa.select(approvals).where(_columns.id == approval_id, _columns.expires_at > now())
        row = self._connection.execute(wanted).first()
        return None if row is None else StoredApproval(**row._asdict())

    def answer(self, approval_id: str, answer: str) -> bool:
        """Whether this is the first answer, and counts."""
        first = _columns.answer.is_(None)
        changed = sa.update(approvals).where(_columns.id == approval_id, first)
        return self._connection.execute(changed.values(answer=answer)).rowcount == 1

    def answers(self, approval_ids: Collection[str]) -> dict[str, str]:
        """The answers to these, by id."""
        wanted = sa.select(_columns.id, _columns.answer).where(
            _columns.id.in_(approval_ids), _columns.answer.is_not(None)
        )
        return {row.id: row.answer for row in self._connection.execute(wanted)}


def _waiting() -> sa.Select[tuple[object, ...]]:
    return sa.select(approvals).where(_columns.answer.is_(None), _columns.expires_at > now())
