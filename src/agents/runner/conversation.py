"""The thread of a run: found or created, what the model gets of it, and what a run adds.

A thread belongs to its principal and to one agent. It carries the marks of everything that it has
been answered. They are put on the session before the model sees the first message, and stored with
the messages, in one transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final
from uuid import UUID

import msgspec

from caps.agents.runner.errors import ThreadUnknownError
from caps.agents.runner.model import RunContext, RunLimits
from caps.protocol.errors import ConfigurationError
from caps.store.columns import new_id, require_key
from caps.store.repositories.agents import StoredAgent
from caps.store.repositories.threads import (
    NewMessage,
    Role,
    StoredMessage,
    StoredThread,
    Threads,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from caps.store.database import Store

TITLE_CHARACTERS: Final = 80


class Conversation(msgspec.Struct, frozen=True, kw_only=True):
    """A thread as a run begins with it."""

    thread: StoredThread
    history: tuple[NewMessage, ...]
    is_new: bool

    @property
    def owns_session(self) -> bool:
        """Whether the session is the thread's own, and not one that somebody named."""
        return self.thread.session == str(self.thread.id)


async def open_conversation(
    store: Store | None, agent: StoredAgent, message: str, ctx: RunContext
) -> Conversation:
    """The thread that `ctx` names, or a new one. Raises ThreadUnknownError, ConfigurationError."""
    # Before the run has any effect, and not when its thread is stored.
    require_key("principal", ctx.principal)
    require_key("session", ctx.session or "")
    if ctx.thread is None:
        return _new(agent, message, ctx)
    if store is None:
        raise ConfigurationError("the runner has no store, so there are no threads to continue")
    thread_id, limits = ctx.thread, ctx.limits

    def work(connection: Connection) -> tuple[StoredThread, list[StoredMessage]] | None:
        threads = Threads(connection, ctx.principal)
        thread = threads.find(thread_id)
        if thread is None:
            return None
        return thread, threads.latest(thread, limits.history_messages)

    found = await store.read(work)
    if found is None:
        raise ThreadUnknownError(f"there is no thread `{thread_id}`")
    thread, messages = found
    if thread.agent_id != agent.id:
        raise ConfigurationError(f"thread `{thread_id}` belongs to another agent")
    if ctx.session not in (None, thread.session):
        raise ConfigurationError(f"thread `{thread_id}` belongs to another session")
    return Conversation(thread=thread, history=bounded_history(messages, limits), is_new=False)


def _new(agent: StoredAgent, message: str, ctx: RunContext) -> Conversation:
    thread_id = new_id()
    thread = StoredThread(
        id=thread_id,
        principal=ctx.principal,
        agent_id=agent.id,
        session=str(thread_id) if ctx.session is None else ctx.session,
        title=" ".join(message.split())[:TITLE_CHARACTERS],
    )
    return Conversation(thread=thread, history=(), is_new=True)


def bounded_history(messages: Sequence[StoredMessage], limits: RunLimits) -> tuple[NewMessage, ...]:
    """The last messages within the limits, from a message of the user on.

    So no tool result is without its call, and the model sees the start of an exchange.
    """
    room, start = limits.history_characters, len(messages)
    for index in range(len(messages) - 1, -1, -1):
        room -= len(messages[index].content)
        if room < 0:
            break
        if messages[index].role is Role.USER:
            start = index
    return tuple(
        NewMessage(role=each.role, content=each.content, tool=each.tool, call_id=each.call_id)
        for each in messages[start:]
    )


async def keep(
    store: Store, conversation: Conversation, added: Sequence[NewMessage], marks: Collection[str]
) -> UUID:
    """Store what a run added. Raises StoreError; ThreadUnknownError if it was deleted since."""
    thread = conversation.thread
    storable = [_storable(message) for message in added]

    def work(connection: Connection) -> None:
        threads = Threads(connection, thread.principal)
        if conversation.is_new:
            threads.add(msgspec.structs.replace(thread, title=storable_text(thread.title)))
        current = threads.find(thread.id, for_change=True)
        if current is None:
            raise ThreadUnknownError(f"thread `{thread.id}` was deleted during the run")
        threads.append(current, storable, marks)

    await store.write(work)
    return thread.id


def _storable(message: NewMessage) -> NewMessage:
    return msgspec.structs.replace(message, content=storable_text(message.content))


def storable_text(text: str) -> str:
    """`text` with escapes for what a database cannot keep: NUL, halves of surrogate pairs."""
    return text.replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode()
