"""(5) Transports: how the host moves bytes. One small interface, two backends, both shipped.

A transport moves bytes and knows nothing of messages. It runs on the host only; the worker's end
of a socket pair is a plain blocking descriptor.
"""

from __future__ import annotations

import asyncio
import math
import socket
from collections.abc import Callable
from typing import Protocol, TypeVar

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from caps.protocol.asyncio_reader import (
    AsyncioReader,
    ChannelClosedError,
    OverdueError,
    as_it_is,
    received,
)

__all__ = [
    "ChannelClosedError",
    "MemoryTransport",
    "OverdueError",
    "SocketTransport",
    "Transport",
]

T = TypeVar("T")


class Transport(Protocol):
    """A stream of bytes in both directions."""

    async def send(self, data: bytes) -> None:
        """Send all of `data`; callers may overlap, their bytes do not. ChannelClosedError.

        A send that is cancelled midway leaves no torn frame: the rest goes before what follows.
        """

    def send_now(self, data: bytes) -> bool:
        """Send `data` without waiting; False if some of it is left, to go before what follows.

        What is left is sent by the next `send`, be it of nothing. ChannelClosedError.
        """

    async def receive(self) -> bytes:
        """The next bytes, at least one; `b""` when the peer has closed."""

    async def receive_until(
        self, take: Callable[[bytes], T | None], within_s: float = math.inf
    ) -> T:
        """Hand everything that comes to `take`, until it returns something; that.

        `take` gets what `receive` would return, in the caller's context. It may be called in the
        event loop's own step, in no task, so it must not wait; what it raises is raised here.
        OverdueError if it returns nothing within `within_s` seconds.
        """

    def close(self) -> None:
        """Close this end; whoever waits on it gets ChannelClosedError. Idempotent."""


async def _until_taken(
    transport: Transport, take: Callable[[bytes], T | None], within_s: float
) -> T:
    with anyio.move_on_after(within_s):
        while True:
            taken = take(await transport.receive())
            if taken is not None:
                return taken
    raise OverdueError


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
        """Two ends joined to each other."""
        to_right, from_left = anyio.create_memory_object_stream[bytes](math.inf)
        to_left, from_right = anyio.create_memory_object_stream[bytes](math.inf)
        return cls(to_right, from_right), cls(to_left, from_left)

    async def send(self, data: bytes) -> None:
        if not data:
            return  # empty bytes would read as the end
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
        return await _until_taken(self, take, within_s)

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
        # Made when somebody has to wait for room, which is rare.
        self._sending: anyio.Lock | None = None
        self._unsent = b""
        self._incoming: AsyncioReader | None = None
        self._closed = False

    @classmethod
    def pair(cls) -> tuple[SocketTransport, socket.socket]:
        """The host's end, and the raw socket for the worker."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        return cls(ours), theirs

    async def send(self, data: bytes) -> None:
        if not self._unsent and not self._is_sending:
            # The usual case: nobody is in the middle of a send, and the socket takes all of it.
            sent = self._send_some(data)
            if sent == len(data):
                return
            if sent:
                # Kept here, since to wait for its turn is to be cancelled, perhaps.
                self._unsent, data = data[sent:], b""
        if self._sending is None:
            self._sending = anyio.Lock()
        async with self._sending:
            view = memoryview(self._unsent + data if self._unsent else data)
            self._unsent = b""
            while view:
                sent = self._send_some(view)
                if not sent:
                    await self._until_writable(view)
                view = view[sent:]

    @property
    def _is_sending(self) -> bool:
        return self._sending is not None and self._sending.locked()

    def _send_some(self, data: bytes | memoryview) -> int:
        """How many bytes the socket took, without waiting for it."""
        try:
            return self._socket.send(data)
        except BlockingIOError:
            return 0
        except OSError:
            raise ChannelClosedError from None

    async def _until_writable(self, rest: memoryview) -> None:
        try:
            await self._wait(anyio.wait_writable)
        except anyio.get_cancelled_exc_class():
            # `send_now` may have left something meanwhile, which comes after it.
            self._unsent = bytes(rest) + self._unsent
            raise

    def send_now(self, data: bytes) -> bool:
        if not self._unsent and not self._is_sending:
            data = data[self._send_some(data) :]
        self._unsent += data
        return not self._unsent

    async def receive(self) -> bytes:
        # Always waits, if only for a turn: a peer that has always more to say must not keep the
        # loop to itself.
        reader = self._reader()
        if reader is not None:
            return await reader.read(as_it_is)
        while True:
            await self._wait(anyio.wait_readable)
            data = received(self._socket)
            if data is not None:
                return data

    async def receive_until(
        self, take: Callable[[bytes], T | None], within_s: float = math.inf
    ) -> T:
        reader = self._reader()
        if reader is None:
            return await _until_taken(self, take, within_s)
        return await reader.read(take, within_s)

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
            anyio.notify_closing(self._socket)
            self._socket.close()
