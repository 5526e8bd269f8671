"""Threads and their messages: conversations of a principal with an agent.

A message is written once and has the next number of its thread. Both carry *marks*: the labels of
everything that the conversation had been answered, and the functions that answered. They only
grow, and whoever reads a message into another channel must add them there.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import msgspec
import sqlalchemy as sa

from caps.store.columns import OrderedText, UtcTime, Words, is_key, metadata, now, require_key

threads: Final = sa.Table(
    "threads",
    metadata,
    sa.Column("id", sa.Uuid, primary_key=True),
    sa.Column("principal", OrderedText, nullable=False),
    sa.Column("agent_id", sa.Uuid, nullable=False),
    sa.Column("session", sa.Text, nullable=False),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("marks", Words, nullable=False),
    sa.Column("messages", sa.BigInteger, nullable=False),
    sa.Column("created_at", UtcTime, nullable=False),
    sa.Column("updated_at", UtcTime, nullable=False),
    sa.Index(None, "principal", "id"),
)
messages: Final = sa.Table(
    "messages",
    metadata,
    sa.Column("thread_id", sa.ForeignKey("threads.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("role", sa.Text, nullable=False),
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("tool", sa.Text),
    sa.Column("call_id", sa.Text),
    sa.Column("marks", Words, nullable=False),
    sa.Column("created_at", UtcTime, nullable=False),
)


class Role(enum.Enum):
    """Who says it."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL_CALL = "tool_call"
    """The content is the arguments, as the text of a JSON object."""
    TOOL_RESULT = "tool_result"
    """It follows its call, and has the same `call_id`."""


class NewMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message that gets its number when it is written."""

    role: Role
    content: str
    tool: str | None = None
    call_id: str | None = None


class StoredMessage(msgspec.Struct, frozen=True, kw_only=True):
    """One message."""

    number: int
    role: Role
    content: str
    tool: str | None
    call_id: str | None
    marks: tuple[str, ...]
    created_at: datetime


class StoredThread(msgspec.Struct, frozen=True, kw_only=True):
    """One conversation. It belongs to its principal: nobody else finds it."""

    id: UUID
    principal: str
    agent_id: UUID
    session: str
    """The session that its calls and executions name."""
    title: str
    marks: tuple[str, ...] = ()
    messages: int = 0
    """The number of its messages."""
    created_at: datetime = msgspec.field(default_factory=now)
    updated_at: datetime = msgspec.field(default_factory=now)


class Threads:
    """The repository of the threads of one principal, within one transaction."""

    def __init__(self, connection: sa.Connection, principal: str) -> None:
        self._connection = connection
        self._principal = principal

    def add(self, thread: StoredThread) -> None:
        """Keep a new thread. ConfigurationError for a principal that no database can keep."""
        require_key("principal", thread.principal)
        assert thread.principal == self._principal
        self._connection.execute(sa.insert(threads).values(msgspec.structs.asdict(thread)))

    def find(self, thread_id: UUID, *, for_change: bool = False) -> StoredThread | None:
        """The thread; with `for_change` its other writers wait until this transaction ends."""
        if not is_key(self._principal):
            return None
        wanted = sa.select(threads).where(self._own(thread_id))
        row = self._connection.execute(wanted.with_for_update() if for_change else wanted).first()
        return None if row is None else StoredThread(**row._asdict())

    def page(self, *, before: UUID | None = None, limit: int) -> list[StoredThread]:
        """At most `limit` threads before the one with this id, newest first."""
        wanted = sa.select(threads).where(threads.c.principal == self._principal)
        if before is not None:
            wanted = wanted.where(threads.c.id < before)
        rows = self._connection.execute(wanted.order_by(threads.c.id.desc()).limit(limit))
        return [StoredThread(**row._asdict()) for row in rows]

    def delete(self, thread_id: UUID) -> bool:
        """Delete the thread with its messages; False if there was none."""
        return self._connection.execute(sa.delete(threads).where(self._own(thread_id))).rowcount > 0

    def append(
        self, thread: StoredThread, added: Sequence[NewMessage], marks: Collection[str]
    ) -> StoredThread:
        """Write messages after those that are there. Pass a thread found `for_change`."""
        time, known = now(), tuple(sorted({*thread.marks, *marks}))
        rows = [
            {
                "thread_id": thread.id,
                "number": number,
                "role": message.role.value,
                "content": message.content,
                "tool": message.tool,
                "call_id": message.call_id,
                "marks": known,
                "created_at": time,
            }
            for number, message in enumerate(added, thread.messages + 1)
        ]
        if rows:
            self._connection.execute(sa.insert(messages), rows)
        count = thread.messages + len(rows)
        changes = {"marks": known, "messages": count, "updated_at": time}
        self._connection.execute(sa.update(threads).where(self._own(thread.id)).values(**changes))
        return msgspec.structs.replace(thread, **changes)

    def latest(self, thread: StoredThread, limit: int) -> list[StoredMessage]:
        """The last `limit` messages, oldest first."""
        columns = [each for each in messages.c if each is not messages.c.thread_id]
        wanted = sa.select(*columns).where(messages.c.thread_id == thread.id)
        rows = self._connection.execute(wanted.order_by(messages.c.number.desc()).limit(limit))
        return [_message(row._asdict()) for row in rows][::-1]

    def _own(self, thread_id: UUID) -> sa.ColumnElement[bool]:
        return sa.and_(threads.c.id == thread_id, threads.c.principal == self._principal)


def _message(fields: dict[str, Any]) -> StoredMessage:
    return StoredMessage(**{**fields, "role": Role(fields["role"])})
