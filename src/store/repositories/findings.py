"""Findings of research: short texts with their sources, in the sections of a session's scratchpad.

A finding keeps its number, which is never given again within the session.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Final

import msgspec
import sqlalchemy as sa

from caps.store.columns import OrderedText, UtcTime, Words, metadata, now
from caps.store.repositories.sessions import StoredSession

findings: Final = sa.Table(
    "findings",
    metadata,
    sa.Column("session_id", sa.ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("number", sa.BigInteger, primary_key=True),
    sa.Column("section", OrderedText, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("sources", sa.Text, nullable=False),
    sa.Column("labels", Words, nullable=False),
    sa.Column("created_at", UtcTime, nullable=False),
)
_columns = findings.c


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """Where a finding comes from."""

    title: str
    url: str | None = None


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One finding."""

    number: int
    section: str
    text: str
    sources: tuple[Source, ...]
    labels: tuple[str, ...]
    created_at: datetime


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(tuple[Source, ...]).decode


class Findings:
    """The repository of one session's findings, within one transaction.

    To change something, pass the session that `Sessions.change` returned.
    """

    def __init__(self, connection: sa.Connection, session: StoredSession) -> None:
        self._connection = connection
        self._session = session
        self._own = _columns.session_id == session.id

    def all(self, section: str | None = None) -> list[Finding]:
        """The findings in the order in which they were added, of one section or of all."""
        wanted = sa.select(findings).where(self._own).order_by(_columns.number)
        if section is not None:
            wanted = wanted.where(_columns.section == section)
        return [_finding(row) for row in self._connection.execute(wanted)]

    def count(self) -> int:
        wanted = sa.select(sa.func.count()).select_from(findings).where(self._own)
        return self._connection.execute(wanted).scalar_one()

    def add(
        self, section: str, text: str, sources: tuple[Source, ...], labels: Collection[str]
    ) -> Finding:
        """Add one. The revision of the session is its number: it only rises."""
        row = {
            "session_id": self._session.id,
            "number": self._session.revision,
            "section": section,
            "text": text,
            "sources": _encode(sources).decode(),
            "labels": tuple(labels),
            "created_at": now(),
        }
        added = sa.insert(findings).values(row).returning(*_columns)
        return _finding(self._connection.execute(added).one())

    def remove(self, number: int) -> Finding | None:
        """Delete the finding and return it; None if there is none of this number."""
        removed = sa.delete(findings).where(self._own, _columns.number == number)
        row = self._connection.execute(removed.returning(*_columns)).first()
        return None if row is None else _finding(row)


def _finding(row: sa.Row[tuple[object, ...]]) -> Finding:
    fields = {**row._asdict(), "sources": _decode(row.sources)}
    del fields["session_id"]
    return Finding(**fields)
