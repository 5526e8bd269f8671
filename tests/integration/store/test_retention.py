"""Old executions are deleted with their events, in batches, on both databases."""

from __future__ import annotations

from datetime import timedelta

import pytest
import sqlalchemy as sa

from caps.service.executions import retention
from caps.store.columns import now
from caps.store.database import Store
from caps.store.repositories.executions import (
    Executions,
    NewEvent,
    StoredExecution,
    execution_events,
)

pytestmark = pytest.mark.anyio


def execution(number: int, ended_days_ago: float | None) -> StoredExecution:
    ended = None if ended_days_ago is None else now() - timedelta(days=ended_days_ago)
    return StoredExecution(
        id=f"{number:032x}",
        principal="ada",
        agent_id=None,
        session=None,
        instance="here",
        status="running" if ended is None else "finished",
        source_sha256="0",
        started=True,
        created_at=now(),
        ended_at=ended,
    )


async def test_only_old_ones_go(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """What runs, and what ended lately, stays; a batch is bounded."""

    def work(connection: sa.Connection) -> None:
        for number, days in enumerate((100, 99, 98, 1, None)):
            one = execution(number, days)
            Executions(connection).add(one)
            Executions(connection).append(one.id, [NewEvent("output", "{}")])

    await store.write(work)
    monkeypatch.setattr(retention, "BATCH", 2)
    assert [await retention.prune_some(store, 90) for _ in range(3)] == [2, 1, 0]
    await retention.prune_executions(store, 0)  # kept for ever: nothing to do
    left = await store.read(lambda found: Executions(found).page(None, before=None, limit=9))
    assert [int(each.id, 16) for each in left] == [4, 3]
    events = sa.select(sa.func.count()).select_from(execution_events)
    assert await store.read(lambda found: found.execute(events).scalar()) == 2
