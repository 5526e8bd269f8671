"""What a killed service left: executions without an end, each marked with whether its code ran.

The audit log knows: the record of a start is on disk before the worker gets a byte of the code, and
that of a decision before the call, for plans, which have no worker.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import anyio.to_thread
import msgspec

from caps.protocol.errors import WorkerLostError
from caps.security.audit import read_records
from caps.security.audit.model.records import DecisionMade, ExecutionStarted
from caps.store.columns import now
from caps.store.database import Store
from caps.store.repositories.executions import (
    UNFINISHED,
    Executions,
    NewEvent,
    RunState,
    StoredExecution,
)

NEVER_RAN = "the service stopped before its code ran: never ran"
RESULT_LOST = "the service stopped while its code ran: ran, result lost"


async def mark_lost(store: Store, instance: str, audit_directory: Path) -> int:
    """End what this instance left unfinished; return its number. StoreError, AuditError."""
    left = await store.read(lambda connection: Executions(connection).unfinished(instance))
    if not left:
        return 0
    ids = frozenset(each.id for each in left)
    ran = await anyio.to_thread.run_sync(_started, audit_directory, ids)

    def work(connection: Any) -> None:
        repository = Executions(connection)
        for each in left:
            _mark(repository, each, started=each.id in ran)

    await store.write(work)
    return len(left)


def _started(audit_directory: Path, ids: frozenset[str]) -> frozenset[str]:
    records: Iterable[Any] = read_records(audit_directory)
    return frozenset(
        record.event.execution_id
        for record in records
        if isinstance(record.event, ExecutionStarted | DecisionMade)
        and record.event.execution_id in ids
    )


def _mark(repository: Executions, execution: StoredExecution, *, started: bool) -> None:
    assert execution.status in UNFINISHED
    message = RESULT_LOST if started else NEVER_RAN
    error = {"code": WorkerLostError.code, "message": message}
    repository.append(execution.id, [NewEvent("finished", "{}")])
    repository.update(
        execution.id,
        status=RunState.LOST.value,
        started=started,
        ended_at=now(),
        error=msgspec.json.encode(error).decode(),
    )
