"""Standard input and output as a transport: one JSON-RPC message a line, bounded both ways.

While it serves, descriptor 1 is standard error, so that nothing else can reach the protocol, and
descriptor 0 is empty. Nothing is read by a thread, so it ends at once when it is cancelled.

A line that is too long or no message is answered with an error and skipped. If the client does not
read its answers, nothing more is read from it.
"""

from __future__ import annotations

import logging
import os
import signal
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final

import anyio
import anyio.abc
import anyio.lowlevel
import msgspec
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from caps.mcp.server.limits import ServerLimits
from caps.mcp.server.server import CapsServer

logger = logging.getLogger(__name__)

_READ_BYTES: Final = 64 * 1024
# A pipe that is writable takes this many bytes without blocking.
_WRITE_BYTES: Final = 4096
_CANCELLED: Final = "notifications/cancelled"

_In = MemoryObjectSendStream[SessionMessage | Exception]
_Out = MemoryObjectReceiveStream[SessionMessage]
Streams = tuple[
    MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]
]


@contextmanager
def claimed_streams() -> Iterator[tuple[int, int]]:
    """Descriptors of standard input and output that nothing else in the process has."""
    source, target = os.dup(0), os.dup(1)  # not inherited by children
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.dup2(2, 1)
    os.close(empty)
    try:
        yield source, target
    finally:
        os.dup2(source, 0)
        os.dup2(target, 1)
        os.close(source)
        os.close(target)


async def serve_stdio(server: CapsServer, source: int, target: int) -> signal.Signals | None:
    """Serve until the client ends or a signal comes, which is returned. All calls end with it."""
    received: signal.Signals | None = None

    async def stop_on_signal(*, task_status: anyio.abc.TaskStatus[None]) -> None:
        nonlocal received
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            task_status.started()
            async for number in signals:
                received = number
                tasks.cancel_scope.cancel()

    async with anyio.create_task_group() as tasks:
        await tasks.start(stop_on_signal)
        async with stdio_transport(source, target, server.limits) as (incoming, outgoing):
            sdk = server.sdk
            await sdk.run(incoming, outgoing, sdk.create_initialization_options())
        tasks.cancel_scope.cancel()
    return received


@asynccontextmanager
async def stdio_transport(source: int, target: int, limits: ServerLimits) -> AsyncIterator[Streams]:
    """The streams that `Server.run` takes. The first ends when standard input does."""
    to_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    to_client, from_server = anyio.create_memory_object_stream[SessionMessage](0)
    lines = _Lines(source, target, limits)
    async with anyio.create_task_group() as tasks:

        async def until_gone(work: Callable[[Any], Awaitable[None]], stream: object) -> None:
            try:
                await work(stream)
            except OSError as error:  # a pipe without its other end
                logger.info("the client has gone: %s", error)
                tasks.cancel_scope.cancel()

        tasks.start_soon(until_gone, lines.read_all, to_server)
        tasks.start_soon(until_gone, lines.write_all, from_server)
        yield from_client, to_client
        tasks.cancel_scope.cancel()


class _Lines:
    """Both directions, and the requests that have no answer yet."""

    def __init__(self, source: int, target: int, limits: ServerLimits) -> None:
        self._source = source
        self._target = target
        self._limits = limits
        self._unanswered: Counter[str] = Counter()
        self._answered = anyio.Event()
        self._writing = anyio.Lock()

    async def read_all(self, messages: _In) -> None:
        try:
            async with messages:
                async for line in self._lines():
                    await self._take(line, messages)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            pass  # the server has ended

    async def _lines(self) -> AsyncIterator[bytes]:
        """Each line, without its end; one that is too long is refused, and skipped."""
        waiting, is_skipping = bytearray(), False
        while chunk := await _read(self._source):
            waiting += chunk
            *lines, rest = waiting.split(b"\n")
            waiting = bytearray(rest)
            for line in lines:
                if is_skipping:
                    is_skipping = False
                elif len(line) > self._limits.message_bytes:
                    await self._refuse_long()
                else:
                    yield bytes(line)
            if len(waiting) > self._limits.message_bytes or is_skipping:
                if not is_skipping:
                    await self._refuse_long()
                waiting, is_skipping = bytearray(), True

    async def _refuse_long(self) -> None:
        await self._refuse(
            INVALID_REQUEST, f"the message is over {self._limits.message_bytes} bytes"
        )

    async def _take(self, line: bytes, messages: _In) -> None:
        if not line.strip():
            return
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except (ValidationError, ValueError, RecursionError):
            await self._refuse_unread(line)
            return
        if isinstance(message, JSONRPCNotification) and _has_id(line):
            await self._refuse_unread(line)  # a request whose id is none
            return
        if isinstance(message, JSONRPCRequest):
            await self._wait_for_room()
            self._unanswered[str(message.id)] += 1  # a client may use an id twice
        elif isinstance(message, JSONRPCNotification) and message.method == _CANCELLED:
            self._settle((message.params or {}).get("requestId"))  # it is not answered
        await messages.send(SessionMessage(message))

    async def _refuse_unread(self, line: bytes) -> None:
        try:
            msgspec.json.decode(line)
        except (msgspec.MsgspecError, RecursionError, UnicodeError):
            await self._refuse(PARSE_ERROR, "the message is not JSON")
        else:
            await self._refuse(INVALID_REQUEST, "the message is not one of JSON-RPC")

    async def _wait_for_room(self) -> None:
        while self._unanswered.total() >= self._limits.unanswered:
            self._answered = anyio.Event()
            await self._answered.wait()

    def _settle(self, request_id: object) -> None:
        key = str(request_id)
        if self._unanswered[key] <= 1:
            del self._unanswered[key]
        else:
            self._unanswered[key] -= 1
        self._answered.set()

    async def _refuse(self, code: int, message: str) -> None:
        error = JSONRPCError(jsonrpc="2.0", id=None, error=ErrorData(code=code, message=message))
        await self._write(error.model_dump_json(by_alias=True, exclude_unset=True))

    async def write_all(self, messages: _Out) -> None:
        async with messages:
            async for each in messages:
                message = each.message
                await self._write(message.model_dump_json(by_alias=True, exclude_unset=True))
                if isinstance(message, (JSONRPCResponse, JSONRPCError)):
                    self._settle(message.id)

    async def _write(self, text: str) -> None:
        """Raises OSError if the client has gone."""
        async with self._writing:
            left = memoryview(text.encode() + b"\n")
            while left:
                await _wait_writable(self._target)
                left = left[os.write(self._target, left[:_WRITE_BYTES]) :]


class _Id(msgspec.Struct):
    id: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


def _has_id(line: bytes) -> bool:
    """Whether a message that can be read has an id, of whatever type."""
    return msgspec.json.decode(line, type=_Id).id is not msgspec.UNSET


async def _read(source: int) -> bytes:
    try:
        await anyio.wait_readable(source)
    except PermissionError:
        await anyio.lowlevel.checkpoint()  # a regular file: reading it never waits
    return os.read(source, _READ_BYTES)


async def _wait_writable(target: int) -> None:
    try:
        await anyio.wait_writable(target)
    except PermissionError:
        await anyio.lowlevel.checkpoint()
