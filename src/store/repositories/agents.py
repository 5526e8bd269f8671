"""Agents and their capabilities: one row an agent, and one for each capability, in order.

An agent lists its capabilities as an array, or gives each an entry in an object. The rows of
`agent_capabilities` hold the order for both forms; `agents.entries` holds the entries of an object.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import msgspec
import sqlalchemy as sa

from caps.store.columns import OrderedText, UtcTime, metadata, new_id, now

Capabilities = Mapping[str, Any] | Sequence[str]

agents: Final = sa.Table(
    "agents",
    metadata,
    sa.Column("id", sa.Uuid, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("description", sa.Text, nullable=False),
    sa.Column("system_prompt", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("entries", sa.Text),
    sa.Column("policy", sa.Text),
    sa.Column("created_by", OrderedText, nullable=False),
    sa.Column("revision", sa.BigInteger, nullable=False),
    sa.Column("created_at", UtcTime, nullable=False),
    sa.Column("updated_at", UtcTime, nullable=False),
)
agent_capabilities: Final = sa.Table(
    "agent_capabilities",
    metadata,
    sa.Column("id", sa.Uuid, primary_key=True),
    sa.Column("agent_id", sa.ForeignKey("agents.id", ondelete="CASCADE"), nullable=False),
    sa.Column("capability_id", sa.String(50), nullable=False),
    sa.Column("position", sa.Integer, nullable=False, server_default="0"),
    sa.Column("created_at", UtcTime, nullable=False),
    sa.UniqueConstraint("agent_id", "capability_id"),
    sa.Index("idx_agent_capabilities_agent_id", "agent_id"),
    sa.Index("idx_agent_capabilities_position", "agent_id", "position"),
)


class StoredAgent(msgspec.Struct, frozen=True, kw_only=True):
    """An agent. `capabilities` and `policy` are JSON, in the form in which they were given."""

    id: UUID
    name: str
    description: str
    system_prompt: str
    status: str
    capabilities: Capabilities
    policy: Mapping[str, Any] | None
    created_by: str
    revision: int
    """1, and one more for each change."""
    created_at: datetime
    updated_at: datetime


class Agents:
    """The repository, within one transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def add(self, agent: StoredAgent) -> None:
        """Keep a new agent."""
        self._connection.execute(sa.insert(agents).values(_row(agent)))
        self._put_capabilities(agent)

    def find(self, agent_id: UUID, *, for_change: bool = False) -> StoredAgent | None:
        """The agent; with `for_change` its other writers wait until this transaction ends."""
        wanted = sa.select(agents).where(agents.c.id == agent_id)
        if for_change:
            wanted = wanted.with_for_update()
        return next(iter(self._read(wanted)), None)

    def page(
        self, *, after: UUID | None = None, limit: int, name: str | None = None
    ) -> list[StoredAgent]:
        """At most `limit` agents after the one with this id, oldest first.

        With `name` only those of this name: names are not unique.
        """
        wanted = sa.select(agents).order_by(agents.c.id).limit(limit)
        if after is not None:
            wanted = wanted.where(agents.c.id > after)
        if name is not None:
            wanted = wanted.where(agents.c.name == name)
        return self._read(wanted)

    def replace(self, agent: StoredAgent) -> None:
        """Replace the agent of this id, which `find` has locked."""
        changed = sa.update(agents).where(agents.c.id == agent.id).values(_row(agent))
        self._connection.execute(changed)
        own = agent_capabilities.c.agent_id == agent.id
        self._connection.execute(sa.delete(agent_capabilities).where(own))
        self._put_capabilities(agent)

    def delete(self, agent_id: UUID) -> bool:
        """Delete the agent with what belongs to it; False if there was none."""
        done = self._connection.execute(sa.delete(agents).where(agents.c.id == agent_id))
        return done.rowcount > 0

    def _put_capabilities(self, agent: StoredAgent) -> None:
        rows = [
            {
                "id": new_id(),
                "agent_id": agent.id,
                "capability_id": capability,
                "position": position,
                "created_at": now(),
            }
            for position, capability in enumerate(agent.capabilities)
        ]
        if rows:
            self._connection.execute(sa.insert(agent_capabilities), rows)

    def _read(self, wanted: sa.Select[Any]) -> list[StoredAgent]:
        rows = self._connection.execute(wanted).all()
        keys = self._capability_ids([row.id for row in rows])
        return [_agent(row, keys.get(row.id, [])) for row in rows]

    def _capability_ids(self, ids: Sequence[UUID]) -> dict[UUID, list[str]]:
        columns = agent_capabilities.c
        wanted = sa.select(columns.agent_id, columns.capability_id)
        wanted = wanted.where(columns.agent_id.in_(ids)).order_by(columns.position)
        found: dict[UUID, list[str]] = {}
        for agent_id, capability in self._connection.execute(wanted):
            found.setdefault(agent_id, []).append(capability)
        return found


def _row(agent: StoredAgent) -> dict[str, Any]:
    fields = msgspec.structs.asdict(agent)
    capabilities = fields.pop("capabilities")
    fields["entries"] = _text(capabilities) if isinstance(capabilities, Mapping) else None
    fields["policy"] = None if agent.policy is None else _text(agent.policy)
    return fields


def _text(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _agent(row: sa.Row[Any], keys: list[str]) -> StoredAgent:
    fields = row._asdict()
    entries = fields.pop("entries")
    policy = None if row.policy is None else msgspec.json.decode(row.policy)
    capabilities: Capabilities = keys
    if entries is not None:
        given = msgspec.json.decode(entries)
        capabilities = {key: given[key] for key in keys}
    return StoredAgent(**{**fields, "policy": policy, "capabilities": capabilities})
