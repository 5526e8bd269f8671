"""The transport of a server on descriptors: lines of JSON, with bounds that the SDK does not have.

A line that is too long, lines faster than any honest server sends them, and too many lines that are
not messages end the connection. Runs in the bridge.
"""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

import anyio
import mcp_types
from mcp.shared.message import SessionMessage

MAX_LINE_BYTES: Final = 6 * 1024 * 1024
MAX_BAD_LINES: Final = 100
# What a second may bring, and what may come at once.
MESSAGES: Final = (500.0, 5_000.0)
_BYTES: Final = (16.0 * 1024 * 1024, 64.0 * 1024 * 1024)
_CHUNK: Final = 64 * 1024
_SHOWN: Final = 200
# What only messages have; any other line may be a log that belongs elsewhere.
_MARK: Final = b'"jsonrpc"'
_LOOKED_AT: Final = 4096


class MisbehaviourError(Exception):
    """The server sends what no server may send; the connection ends."""


class Budget:
    """A token bucket: so much a second, and so much at once."""

    def __init__(self, rate: float, burst: float) -> None:
        self._rate, self._burst, self._left = rate, burst, burst
        self._at = time.monotonic()

    def take(self, amount: float) -> bool:
        now = time.monotonic()
        self._left = min(self._burst, self._left + (now - self._at) * self._rate)
        self._at, self._left = now, self._left - amount
        return self._left >= 0


class LineReader:
    """Bytes of a server to messages. Raises MisbehaviourError."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._messages, self._bytes = Budget(*MESSAGES), Budget(*_BYTES)
        self._bad = 0

    def feed(self, data: bytes) -> list[SessionMessage]:
        if not self._bytes.take(len(data)):
            raise MisbehaviourError("the server floods its output")
        self._buffer += data
        *lines, rest = self._buffer.split(b"\n") if b"\n" in data else [self._buffer]
        self._buffer = rest
        if len(rest) > MAX_LINE_BYTES:
            raise MisbehaviourError(f"a message is larger than {MAX_LINE_BYTES} bytes")
        return [each for each in map(self._message, lines) if each is not None]

    def _message(self, line: bytearray) -> SessionMessage | None:
        if len(line) > MAX_LINE_BYTES:
            raise MisbehaviourError(f"a message is larger than {MAX_LINE_BYTES} bytes")
        if not self._messages.take(1):
            raise MisbehaviourError("the server floods its output with messages")
        if not line.strip():
            return None
        try:
            found: Any = mcp_types.jsonrpc_message_adapter.validate_json(bytes(line), by_name=False)
        except (ValueError, RecursionError):
            if _MARK in line[:_LOOKED_AT]:  # a request would wait for it for ever
                raise MisbehaviourError("a message does not fit the protocol") from None
            self._bad += 1
            if self._bad > MAX_BAD_LINES:
                raise MisbehaviourError(
                    f"more than {MAX_BAD_LINES} lines are not messages of the protocol"
                ) from None
            return None
        return SessionMessage(found)


@asynccontextmanager
async def stdio_streams(
    reading: int, writing: int, on_end: Callable[[str], None]
) -> AsyncIterator[Any]:
    """The streams of a session. `on_end` is told why the connection ended."""
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    incoming, read_stream = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write_stream, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_read, reading, incoming, on_end)
        tasks.start_soon(_write, writing, outgoing, incoming)
        try:
            yield read_stream, write_stream
        finally:
            for stream in (read_stream, write_stream):
                stream.close()
            tasks.cancel_scope.cancel()


async def _read(descriptor: int, incoming: Any, on_end: Callable[[str], None]) -> None:
    lines = LineReader()
    async with incoming:
        try:
            while True:
                await anyio.wait_readable(descriptor)
                data = os.read(descriptor, _CHUNK)
                if not data:
                    on_end("the server closed its output")
                    return
                for message in lines.feed(data):
                    await incoming.send(message)
        except MisbehaviourError as error:
            on_end(str(error))
        except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
            on_end(f"the server cannot be read: {type(error).__name__}"[:_SHOWN])


async def _write(descriptor: int, outgoing: Any, incoming: Any) -> None:
    try:
        async with outgoing:
            async for message in outgoing:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                rest = memoryview(text.encode() + b"\n")
                while rest:
                    await anyio.wait_writable(descriptor)
                    with suppress(BlockingIOError):  # less room than a small message needs
                        rest = rest[os.write(descriptor, rest) :]
    except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        await incoming.aclose()  # the session sees that the connection has ended
