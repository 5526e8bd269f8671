"""The events of an execution as server-sent events, from any point on.

Everything comes from the store, so a reader can go on where it stopped, also after a restart.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

import anyio
from sqlalchemy import Connection

from caps.service.executions.runner import FINISHED, ExecutionRunner
from caps.store.database import Store
from caps.store.repositories.executions import UNFINISHED, Executions, StoredEvent

_BATCH: Final = 256
# Something is sent this often, so that nothing on the way takes the connection for dead.
_KEEP_ALIVE_SECONDS: Final = 15.0
# How often the store is asked about an execution of another instance.
_POLL_SECONDS: Final = 1.0


async def event_stream(
    store: Store, runner: ExecutionRunner, execution_id: str, after: int
) -> AsyncIterator[bytes]:
    """The events after number `after`, until the last one. StoreError."""
    while True:
        running = runner.find(execution_id)
        changed = None if running is None else running.changed  # before reading: nothing is missed
        has_ended, events = await _read(store, execution_id, after)
        for event in events:
            if event.kind == FINISHED:
                yield _sent(event, await _end(store, execution_id))
                return
            yield _sent(event, event.data)
            after = event.number
        if events:
            continue
        if has_ended:
            return  # the reader has everything already
        seconds = _POLL_SECONDS if changed is None else _KEEP_ALIVE_SECONDS
        with anyio.move_on_after(seconds) as waited:
            await (anyio.sleep_forever() if changed is None else changed.wait())
        if waited.cancelled_caught:
            yield b": wait\n\n"


async def _read(store: Store, execution_id: str, after: int) -> tuple[bool, list[StoredEvent]]:
    """Whether the execution has ended, and the next events."""

    def work(connection: Connection) -> tuple[bool, list[StoredEvent]]:
        executions = Executions(connection)
        found = executions.find(execution_id)  # first: its end comes with the last event
        has_ended = found is None or found.status not in UNFINISHED
        return has_ended, list(executions.events(execution_id, after=after, limit=_BATCH))

    return await store.read(work)


async def _end(store: Store, execution_id: str) -> str:
    """The data of the last event: the status, and the result or the error."""
    found = await store.read(lambda connection: Executions(connection).find(execution_id))
    if found is None:
        return "{}"
    return (
        f'{{"status":"{found.status}","started":{str(found.started).lower()},'
        f'"result":{found.result or "null"},"error":{found.error or "null"}}}'
    )


def _sent(event: StoredEvent, data: str) -> bytes:
    """JSON has no line breaks outside of strings, and escapes them within."""
    return f"id: {event.number}\nevent: {event.kind}\ndata: {data}\n\n".encode()
