"""The events of an execution as server-sent events, from any point on.

Everything comes from the store, so a reader can go on where it stopped, also after a restart.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

import anyio

from caps.service.executions.runner import FINISHED, ExecutionRunner
from caps.store.database import Store
from caps.store.repositories.executions import Executions, StoredEvent

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
        events = await store.read(
            lambda connection, last=after: Executions(connection).events(  # type: ignore[misc]
                execution_id, after=last, limit=_BATCH
            )
        )
        for event in events:
            if event.kind == FINISHED:
                yield _sent(event, await _end(store, execution_id))
                return
            yield _sent(event, event.data)
            after = event.number
        if events:
            continue
        seconds = _POLL_SECONDS if changed is None else _KEEP_ALIVE_SECONDS
        with anyio.move_on_after(seconds) as waited:
            await (anyio.sleep_forever() if changed is None else changed.wait())
        if waited.cancelled_caught:
            yield b": wait\n\n"


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
