"""The transport of a server over HTTP: the SDK's own, with bounds. Runs in the bridge."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

import anyio
import httpx2
from mcp.client.streamable_http import streamable_http_client

from caps.mcp.child.stdio import MAX_LINE_BYTES, MESSAGES, Budget

_SECONDS: Final = 30.0
_READ_SECONDS: Final = 3600.0


@asynccontextmanager
async def http_streams(
    url: str, headers: dict[str, str], on_end: Callable[[str], None]
) -> AsyncIterator[Any]:
    """The streams of a session. `on_end` is told if the server sends more than any may."""
    client = httpx2.AsyncClient(
        headers=headers,
        timeout=httpx2.Timeout(_SECONDS, read=_READ_SECONDS),
        trust_env=False,
        event_hooks={"response": [_check_length]},
    )
    async with (
        client,
        streamable_http_client(url, http_client=client, max_sse_event_size=MAX_LINE_BYTES) as (
            read_stream,
            write_stream,
        ),
        anyio.create_task_group() as tasks,
    ):
        incoming, bounded = anyio.create_memory_object_stream[Any](0)
        tasks.start_soon(_pass_on, read_stream, incoming, on_end)
        try:
            yield bounded, write_stream
        finally:
            bounded.close()
            tasks.cancel_scope.cancel()


async def _pass_on(read_stream: Any, incoming: Any, on_end: Callable[[str], None]) -> None:
    budget = Budget(*MESSAGES)
    async with incoming:
        async for message in read_stream:
            if not budget.take(1):
                on_end("the server floods its client with messages")
                return
            try:
                await incoming.send(message)
            except anyio.BrokenResourceError:
                return  # the session has ended


async def _check_length(response: Any) -> None:
    if int(response.headers.get("content-length") or 0) > MAX_LINE_BYTES:
        raise ValueError(f"an answer is larger than {MAX_LINE_BYTES} bytes")
