"""Reads the packets of a zygote, and the file descriptors that come with them.

On asyncio the socket is registered with the event loop once: to do so for each packet costs more
than the packet. The loop's callback only receives; a task handles what came, since anyio works in
tasks only.
"""

from __future__ import annotations

import array
import asyncio
import os
import socket
from collections import deque

import anyio
import msgspec

from caps.protocol.zygote_messages import MAX_PACKET_BYTES

_ROOM_FOR_ONE = socket.CMSG_SPACE(array.array("i").itemsize)


class Packet(msgspec.Struct, frozen=True):
    """One packet, which is empty at the end of the channel."""

    data: bytes
    descriptors: list[int]


class PacketReader:
    """Reads from a socket that does not block. Used by one task."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._loop: asyncio.AbstractEventLoop | None = None
        # Filled by the callback.
        self._come: deque[Packet | OSError] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._closed = False

    async def receive(self) -> Packet:
        """The next packet. Raises OSError, or ClosedResourceError once this was closed."""
        if self._loop is None and not self._closed:
            if anyio.get_cancelled_exc_class() is not asyncio.CancelledError:
                return await self._receive_in_turn()
            self._loop = asyncio.get_running_loop()
            self._loop.add_reader(self._control.fileno(), self._readable)
        while not self._come:
            if self._closed or self._loop is None:
                raise anyio.ClosedResourceError
            self._waiter = self._loop.create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        packet = self._come.popleft()
        if isinstance(packet, OSError):
            raise packet
        return packet

    async def _receive_in_turn(self) -> Packet:
        while True:
            if self._closed:
                raise anyio.ClosedResourceError
            await anyio.wait_readable(self._control)
            packet = self._receive()
            if packet is not None:
                return packet

    def _readable(self) -> None:
        packet: Packet | OSError | None
        try:
            packet = self._receive()
        except OSError as error:
            packet = error
        if packet is None:
            return
        if isinstance(packet, OSError) or not packet.data:
            self._unwatch()  # it would be readable for ever
        self._come.append(packet)
        self._wake()

    def _receive(self) -> Packet | None:
        """The packet that has come; None if there is none."""
        try:
            data, ancillary, _, _ = self._control.recvmsg(MAX_PACKET_BYTES, _ROOM_FOR_ONE)
        except BlockingIOError:
            return None
        descriptors = array.array("i")
        for _, _, passed in ancillary:
            descriptors.frombytes(passed[: len(passed) - len(passed) % descriptors.itemsize])
        for descriptor in descriptors:
            # No program that the host starts may inherit it; `recvmsg` drops the flag.
            os.set_inheritable(descriptor, False)
        return Packet(data, list(descriptors))

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _unwatch(self) -> None:
        if self._loop is not None and not self._closed:
            self._loop.remove_reader(self._control.fileno())

    def close(self) -> None:
        """Before the socket is closed; what came and was not received is dropped."""
        self._unwatch()
        self._closed = True
        while self._come:
            packet = self._come.popleft()
            if isinstance(packet, Packet):
                for descriptor in packet.descriptors:
                    os.close(descriptor)
        self._wake()
