"""(5) Transports: how the host moves bytes. One small interface and two backends, both shipped.

A transport moves bytes and does not know of messages. It runs on the host only; the worker's end of
a socket pair is a plain blocking descriptor.
"""

from __future__ import annotations

import asyncio
import math
import socket
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from caps.protocol.asyncio_reader import (
    AsyncioReader,
    ChannelClosedError,
    ReadTimeout,
    identity,
    recv_nonblocking,
)

__all__ = [
    "ChannelClosedError",
    "MemoryTransport",
    "ReadTimeout",
    "SocketTransport",
    "Transport",
]

T = TypeVar("T")


class Transport(Protocol):
    """A stream of bytes in both directions."""

    async def send(self, data: bytes) -> None:
        """Send all of `data`. Several calls may overlap; their bytes do not mix.

        A send that is cancelled midway leaves no torn frame: the rest is sent before the next data.
        Raises ChannelClosedError.
        """

    def send_now(self, data: bytes) -> bool:
        """Send `data` without waiting; False if a part of it is left.

        The next `send` sends that part first, even if its own data is empty. Raises
        ChannelClosedError.
        """

    async def receive(self) -> bytes:
        """The next bytes, at least one; `b""` when the peer has closed."""

    async def receive_until(
        self, take: Callable[[bytes], T | None], within_s: float = math.inf
    ) -> T:
        """Pass all bytes that come to `take` until it returns something, and return that.

        `take` gets what `receive` would return, in the caller's context. It may be called in the
        event loop's own step, outside of any task, so it must not wait; what it raises is raised
        here. Raises ReadTimeout if it returns nothing within `within_s` seconds.
        """

    def close(self) -> None:
        """Close this end; callers that wait on it get ChannelClosedError. Idempotent."""


async def _receive_until(
    transport: Transport, take: Callable[[bytes], T | None], within_s: float
) -> T:
    with anyio.move_on_after(within_s):
        while True:
            taken = take(await transport.receive())
            if taken is not None:
                return taken
    raise ReadTimeout


class MemoryTransport:
    """Two ends in one process."""

    def __init__(
        self,
        outgoing: MemoryObjectSendStream[bytes],
        incoming: MemoryObjectReceiveStream[bytes],
    ) -> None:
        self._outgoing = outgoing
        self._incoming = incoming

    @classmethod
    def pair(cls) -> tuple[MemoryTransport, MemoryTransport]:
        """Two connected ends."""
        to_right, from_left = anyio.create_memory_object_stream[bytes](math.inf)
        to_left, from_right = anyio.create_memory_object_stream[bytes](math.inf)
        return cls(to_right, from_right), cls(to_left, from_left)

    async def send(self, data: bytes) -> None:
        if not data:
            return  # the peer would read empty bytes as the end
        try:
            await self._outgoing.send(data)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            raise ChannelClosedError from None

    def send_now(self, data: bytes) -> bool:
        if data:
            try:
                self._outgoing.send_nowait(data)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                raise ChannelClosedError from None
        return True

    async def receive_until(
        self, take: Callable[[bytes], T | None], within_s: float = math.inf
    ) -> T:
        return await _receive_until(self, take, within_s)

    async def receive(self) -> bytes:
        try:
            return await self._incoming.receive()
        except anyio.EndOfStream:
            return b""
        except anyio.ClosedResourceError:
            raise ChannelClosedError from None

    def close(self) -> None:
        self._outgoing.close()
        self._incoming.close()


class SocketTransport:
    """One end of a unix socket pair, without blocking the event loop."""

    def __init__(self, end: socket.socket) -> None:
        end.setblocking(False)
        self._socket = end
        # Made when a caller has to wait for room in the socket, which is rare.
        self._sending: anyio.Lock | None = None
        # In order; a send that was cancelled midway leaves the rest here.
        self._unsent: deque[memoryview] = deque()
        self._incoming: AsyncioReader | None = None
        self._closed = False

    @classmethod
    def pair(cls) -> tuple[SocketTransport, socket.socket]:
        """The host's end, and the raw socket for the worker."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        return cls(ours), theirs

    async def send(self, data: bytes) -> None:
        rest = memoryview(data)  # large data is not copied
        if not self._unsent and not self._is_sending:
            # The usual case: no other send is in progress, and the socket takes all of it.
            sent = self._send_some(data)
            if sent == len(data):
                return
            if sent:
                # Kept here, since this call may be cancelled while it waits for the lock.
                self._unsent.append(rest[sent:])
                rest = rest[:0]
        if self._sending is None:
            self._sending = anyio.Lock()
        async with self._sending:
            if rest:
                self._unsent.append(rest)
            while self._unsent:
                if not self._send_first():
                    await self._wait(anyio.wait_writable)

    @property
    def _is_sending(self) -> bool:
        return self._sending is not None and self._sending.locked()

    def _send_first(self) -> int:
        """Send the first unsent bytes without waiting; how many of them the socket took."""
        first = self._unsent[0]
        sent = self._send_some(first)
        if sent == len(first):
            self._unsent.popleft()
        else:
            self._unsent[0] = first[sent:]
        return sent

    def _send_some(self, data: bytes | memoryview) -> int:
        """Send without waiting; the number of bytes that the socket took."""
        try:
            return self._socket.send(data)
        except BlockingIOError:
            return 0
        except OSError:
            raise ChannelClosedError from None

    def send_now(self, data: bytes) -> bool:
        if not self._unsent and (self._sending is None or not self._sending.locked()):
            try:
                sent = self._socket.send(data)
            except OSError:
                sent = self._send_some(data)  # which knows the errors
            if sent == len(data):
                return True
            data = data[sent:]
        if data:
            self._unsent.append(memoryview(data))
        return not self._unsent

    async def receive(self) -> bytes:
        # Always waits at least one turn: a peer that always has more to send must not occupy the
        # event loop.
        reader = self._reader()
        if reader is not None:
            return await reader.read(identity)
        while True:
            await self._wait(anyio.wait_readable)
            data = recv_nonblocking(self._socket)
            if data is not None:
                return data

    def receive_until(
        self, take: Callable[[bytes], T | None], within_s: float = math.inf
    ) -> Coroutine[Any, Any, T]:
        reader = self._incoming or self._reader()
        if reader is None:
            return _receive_until(self, take, within_s)
        return reader.read(take, within_s)

    def _reader(self) -> AsyncioReader | None:
        if self._incoming is None and anyio.get_cancelled_exc_class() is asyncio.CancelledError:
            self._incoming = AsyncioReader(self._socket)
        return self._incoming

    async def _wait(self, ready: object) -> None:
        try:
            await ready(self._socket)  # type: ignore[operator]
        except (anyio.ClosedResourceError, ValueError, OSError):
            raise ChannelClosedError from None

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            if self._incoming is not None:
                self._incoming.close()
            if self._incoming is None or self._sending is not None:  # only then anyio may wait
                anyio.notify_closing(self._socket)
            self._socket.close()
