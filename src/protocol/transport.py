"""(5) Transports: how the host moves bytes. One small interface, two backends, both shipped.

A transport moves bytes and knows nothing of messages. It runs on the host only; the worker's end
of a socket pair is a plain blocking descriptor.
"""

from __future__ import annotations

import math
import socket
from typing import Protocol

import anyio
import anyio.lowlevel
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

# Large receive buffers cost more than they save: most frames are a few hundred bytes.
_RECEIVE_BYTES = 16 * 1024


class ChannelClosedError(Exception):
    """The peer is gone, or this end was closed."""


class Transport(Protocol):
    """A stream of bytes in both directions."""

    async def send(self, data: bytes) -> None:
        """Send all of `data`; callers may overlap, their bytes do not. ChannelClosedError.

        A send that is cancelled midway leaves no torn frame: the rest goes before what follows.
        """

    async def receive(self) -> bytes:
        """The next bytes, at least one; `b""` when the peer has closed."""

    def close(self) -> None:
        """Close this end; whoever waits on it gets ChannelClosedError. Idempotent."""


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
        self._sending = anyio.Lock(fast_acquire=True)
        self._unsent = b""
        self._closed = False
        self._had_more = False

    @classmethod
    def pair(cls) -> tuple[SocketTransport, socket.socket]:
        """The host's end, and the raw socket for the worker."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        return cls(ours), theirs

    async def send(self, data: bytes) -> None:
        async with self._sending:
            view = memoryview(self._unsent + data if self._unsent else data)
            self._unsent = b""
            while view:
                try:
                    sent = self._socket.send(view)
                except BlockingIOError:
                    await self._until_writable(view)
                except OSError:
                    raise ChannelClosedError from None
                else:
                    view = view[sent:]

    async def _until_writable(self, rest: memoryview) -> None:
        try:
            await self._wait(anyio.wait_writable)
        except anyio.get_cancelled_exc_class():
            self._unsent = bytes(rest)
            raise

    async def receive(self) -> bytes:
        # A peer that always has more to say must not keep the loop to itself. Before anything is
        # taken: whoever is cancelled here has lost nothing.
        if self._had_more:
            self._had_more = False
            await anyio.lowlevel.checkpoint()
        while True:
            try:
                data = self._socket.recv(_RECEIVE_BYTES)
            except BlockingIOError:
                self._had_more = False
                await self._wait(anyio.wait_readable)
            except ConnectionResetError:
                return b""
            except OSError:
                raise ChannelClosedError from None
            else:
                self._had_more = True
                return data

    async def _wait(self, ready: object) -> None:
        try:
            await ready(self._socket)  # type: ignore[operator]
        except (anyio.ClosedResourceError, ValueError, OSError):
            raise ChannelClosedError from None

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            anyio.notify_closing(self._socket)
            self._socket.close()
