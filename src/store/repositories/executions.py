"""Executions that the service was asked for, and their events, by which a reader follows them.

Neither code nor inputs are kept: the digest of the code is. An event is written once and has the
next number of its execution. The last one is written with the end of the execution, together.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import msgspec
import sqlalchemy as sa

from caps.store.columns import OrderedText, UtcTime, metadata, now

executions: Final = sa.Table(
    "executions",
    metadata,
    sa.Column("id", OrderedText, primary_key=True),
    sa.Column("principal", OrderedText, nullable=False),
    sa.Column("agent_id", sa.Uuid),
    sa.Column("session", sa.Text),
    sa.Column("instance", OrderedText, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("source_sha256", sa.Text, nullable=False),
    sa.Column("started", sa.Boolean, nullable=False),
    sa.Column("created_at", UtcTime, nullable=False),
    sa.Column("ended_at", UtcTime),
    sa.Column("error", sa.Text),
    sa.Column("result", sa.Text),
    sa.Index(None, "principal", "id"),
    sa.Index(None, "instance", "status"),
    sa.Index(None, "ended_at"),
)
execution_events: Final = sa.Table(
    "execution_events",
    metadata,
    sa.Column("execution_id", sa.ForeignKey("executions.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("data", sa.Text, nullable=False),
    sa.Column("created_at", UtcTime, nullable=False),
)


class RunState(enum.Enum):
    """Where an execution stands. The result says how its code ended."""

    QUEUED = "queued"
    RUNNING = "running"
    FINISHED = "finished"
    """There is a result."""
    FAILED = "failed"
    """It could not be run; the error says why."""
    CANCELLED = "cancelled"
    LOST = "lost"
    """The service died; `started` says whether the code ran."""


UNFINISHED: Final = (RunState.QUEUED.value, RunState.RUNNING.value)


class NewEvent(msgspec.Struct, frozen=True):
    """An event that gets its number when it is written; `data` is the text of a JSON object."""

    kind: str
    data: str


class StoredEvent(msgspec.Struct, frozen=True, kw_only=True):
    number: int
    kind: str
    data: str


class StoredExecution(msgspec.Struct, frozen=True, kw_only=True):
    """One execution. `error` and `result` are the texts of JSON objects."""

    id: str
    principal: str
    agent_id: UUID | None
    session: str | None
    instance: str
    """The service that runs it."""
    status: str
    source_sha256: str
    started: bool
    """Whether the start of its code is known to be recorded."""
    created_at: datetime
    ended_at: datetime | None = None
    error: str | None = None
    result: str | None = None


class Executions:
    """The repository, within one transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def add(self, execution: StoredExecution) -> None:
        self._connection.execute(sa.insert(executions).values(msgspec.structs.asdict(execution)))

    def find(self, execution_id: str) -> StoredExecution | None:
        wanted = sa.select(executions).where(executions.c.id == execution_id)
        row = self._connection.execute(wanted).first()
        return None if row is None else StoredExecution(**row._asdict())

    def page(
        self, principal: str | None, *, before: str | None, limit: int
    ) -> list[StoredExecution]:
        """At most `limit` before the one with this id, newest first; of all without a principal."""
        wanted = sa.select(executions).order_by(executions.c.id.desc()).limit(limit)
        if principal is not None:
            wanted = wanted.where(executions.c.principal == principal)
        if before is not None:
            wanted = wanted.where(executions.c.id < before)
        return [StoredExecution(**row._asdict()) for row in self._connection.execute(wanted)]

    def unfinished(self, instance: str) -> list[StoredExecution]:
        """What this service began and did not end."""
        wanted = sa.select(executions).where(
            executions.c.instance == instance, executions.c.status.in_(UNFINISHED)
        )
        return [StoredExecution(**row._asdict()) for row in self._connection.execute(wanted)]

    def prune(self, before: datetime, *, limit: int) -> int:
        """Delete at most `limit` that ended before this time, with their events; their number."""
        over = (
            sa.select(executions.c.id).where(executions.c.ended_at < before).limit(limit).subquery()
        )
        gone = sa.delete(executions).where(executions.c.id.in_(sa.select(over.c.id)))
        return self._connection.execute(gone).rowcount

    def update(self, execution_id: str, **changes: Any) -> None:
        """Change these columns."""
        changed = sa.update(executions).where(executions.c.id == execution_id)
        self._connection.execute(changed.values(**changes))

    def append(self, execution_id: str, events: Sequence[NewEvent]) -> None:
        """Write events after those that are there. One writer an execution."""
        if not events:
            return
        own = execution_events.c.execution_id == execution_id
        last = self._connection.execute(
            sa.select(sa.func.max(execution_events.c.number)).where(own)
        ).scalar()
        rows = [
            {
                "execution_id": execution_id,
                "number": number,
                "kind": event.kind,
                "data": event.data,
                "created_at": now(),
            }
            for number, event in enumerate(events, (last or 0) + 1)
        ]
        self._connection.execute(sa.insert(execution_events), rows)

    def events(self, execution_id: str, *, after: int, limit: int) -> list[StoredEvent]:
        """At most `limit` events after this number, in order."""
        columns = execution_events.c
        wanted = (
            sa.select(columns.number, columns.kind, columns.data)
            .where(columns.execution_id == execution_id, columns.number > after)
            .order_by(columns.number)
            .limit(limit)
        )
        return [StoredEvent(**row._asdict()) for row in self._connection.execute(wanted)]
