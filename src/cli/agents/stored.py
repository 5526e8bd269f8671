"""The agents of the store, for the commands."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar
from uuid import UUID

from caps.cli.exits import ExitCode, fail
from caps.protocol.text import printable

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from caps.store.repositories.agents import Agents, StoredAgent

T = TypeVar("T")


def in_store(url: str | None, work: Callable[[Agents], T], *, writes: bool = False) -> T:
    """What `work` returns, in one transaction of the store. Raises StoreError."""
    import anyio

    from caps.store import open_store

    def transaction(connection: Connection) -> T:
        from caps.store.repositories.agents import Agents

        return work(Agents(connection))

    async def main() -> T:
        async with open_store(url) as store:
            return await (store.write(transaction) if writes else store.read(transaction))

    return anyio.run(main)


def find_agent(url: str | None, given: str) -> StoredAgent:
    """The agent of this id, or the only one of this name; ends the command if there is none."""
    try:
        by_id = UUID(given)
    except ValueError:
        by_id = None
    named = in_store(url, lambda found: _found(found, given, by_id))
    if not named:
        fail(f"there is no agent `{printable(given, 80)}`", ExitCode.BAD_USAGE)
    if len(named) > 1:
        what = f"several agents are named `{printable(given, 80)}`; give the id of one"
        fail(what, ExitCode.BAD_USAGE)
    return named[0]


def _found(agents: Agents, given: str, by_id: UUID | None) -> list[StoredAgent]:
    found = None if by_id is None else agents.find(by_id)
    if found is not None:
        return [found]
    return [] if "\0" in given else agents.named(given, limit=2)
