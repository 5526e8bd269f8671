"""Threads and messages: the same behaviour on both databases."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import anyio
import pytest
import sqlalchemy as sa
from sqlalchemy import Connection

from caps.agents.definition import new_agent
from caps.store.columns import new_id
from caps.store.database import Store
from caps.store.repositories.agents import Agents, agent_capabilities
from caps.store.repositories.threads import NewMessage, Role, StoredThread, Threads

pytestmark = pytest.mark.anyio


def thread(principal: str = "ada", **fields: Any) -> StoredThread:
    given = {"id": new_id(), "agent_id": new_id(), "session": "s", "title": "t", **fields}
    return StoredThread(principal=principal, **given)


async def added(store: Store, *threads: StoredThread) -> None:
    def work(connection: Connection) -> None:
        for each in threads:
            Threads(connection, each.principal).add(each)

    await store.write(work)


async def say(store: Store, thread_id: UUID, text: str, *marks: str) -> None:
    def work(connection: Connection) -> None:
        threads = Threads(connection, "ada")
        found = threads.find(thread_id, for_change=True)
        assert found is not None
        threads.append(found, [NewMessage(role=Role.USER, content=text)], marks)

    await store.write(work)


async def test_messages_are_numbered_and_marks_only_grow(store: Store) -> None:
    """A message has the marks that its thread has with it."""
    made = thread()
    await added(store, made)
    await say(store, made.id, "one", "private")
    await say(store, made.id, "two", "files.read")
    await say(store, made.id, "three")

    def work(connection: Connection) -> Any:
        threads = Threads(connection, "ada")
        found = threads.find(made.id)
        assert found is not None
        return found, threads.latest(found, 2), threads.latest(found, 0)

    found, last, none = await store.read(work)
    assert (found.messages, found.marks) == (3, ("files.read", "private"))
    assert [(each.number, each.content) for each in last] == [(2, "two"), (3, "three")]
    assert last[1].marks == ("files.read", "private")
    assert none == []


async def test_a_thread_belongs_to_its_principal(store: Store) -> None:
    """Nobody else finds, lists or deletes it."""
    earlier, later = sorted((new_id(), new_id()))  # of one millisecond they are in no order
    mine, second, other = thread(id=earlier), thread(id=later), thread("eve")
    await added(store, mine, second, other)

    def as_eve(connection: Connection) -> Any:
        threads = Threads(connection, "eve")
        return threads.find(mine.id), threads.delete(mine.id), threads.page(limit=9)

    found, deleted, listed = await store.write(as_eve)
    assert (found, deleted, [each.id for each in listed]) == (None, False, [other.id])

    def as_ada(connection: Connection) -> Any:
        threads = Threads(connection, "ada")
        pages = [threads.page(limit=1), threads.page(before=second.id, limit=9)]
        return pages, threads.delete(mine.id), threads.delete(mine.id)

    (newest, rest), deleted, again = await store.write(as_ada)
    assert [each.id for each in (*newest, *rest)] == [second.id, mine.id]
    assert (deleted, again) == (True, False)


async def test_writers_of_one_thread_take_turns(store: Store) -> None:
    """No message is lost, and no number is given twice."""
    made = thread()
    await added(store, made)
    async with anyio.create_task_group() as tasks:
        for number in range(8):
            tasks.start_soon(say, store, made.id, str(number))
    found = await store.read(lambda connection: Threads(connection, "ada").latest(made, 99))
    assert [each.number for each in found] == list(range(1, 9))
    assert {each.content for each in found} == {str(number) for number in range(8)}


async def test_a_deleted_agent_takes_its_capabilities_with_it(store: Store) -> None:
    """Nothing of its own stays; a thread is its user's, and does."""
    agent = new_agent("reader", {"current_time": {}, "noop": {}})
    made = thread(agent_id=agent.id)
    await store.write(lambda connection: Agents(connection).add(agent))
    await added(store, made)

    def rows(connection: Connection) -> int | None:
        found = sa.select(sa.func.count()).select_from(agent_capabilities)
        return connection.scalar(found.where(agent_capabilities.c.agent_id == agent.id))

    assert await store.read(rows) == 2
    assert await store.write(lambda connection: Agents(connection).delete(agent.id))
    assert await store.read(rows) == 0
    assert await store.read(lambda connection: Threads(connection, "ada").find(made.id)) is not None
