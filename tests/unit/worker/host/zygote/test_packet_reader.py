"""The packets of a zygote: each with its descriptors, and none of these left open."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from caps.worker.host.zygote.packet_reader import PacketReader

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setblocking(False)
    with ours, theirs:
        yield ours, theirs


def send(end: socket.socket, data: bytes) -> None:
    descriptor = os.open("/dev/null", os.O_RDONLY)
    socket.send_fds(end, [data], [descriptor])
    os.close(descriptor)


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


class TestPackets:
    async def test_come_one_by_one_until_the_end(
        self, ends: tuple[socket.socket, socket.socket]
    ) -> None:
        """Whole, in order, with a descriptor that no program inherits."""
        ours, theirs = ends
        reader = PacketReader(ours)
        send(theirs, b"first")
        theirs.send(b"second")
        theirs.close()
        with anyio.fail_after(20):
            first = await reader.receive()
            (descriptor,) = first.descriptors
            assert os.get_inheritable(descriptor) is False
            os.close(descriptor)
            second, end = await reader.receive(), await reader.receive()
        assert first.data == b"first"
        assert (second.data, second.descriptors) == (b"second", [])
        assert end.data == b""
        reader.close()

    @pytest.mark.parametrize("anyio_backend", ["asyncio"])
    async def test_that_nobody_received_leave_no_descriptor(
        self, ends: tuple[socket.socket, socket.socket]
    ) -> None:
        """Closed between two packets. On trio none is read before it is asked for."""
        ours, theirs = ends
        reader = PacketReader(ours)
        theirs.send(b"first")
        with anyio.fail_after(20):
            await reader.receive()
            before = open_descriptors()
            send(theirs, b"second")
            while not reader._come:
                await anyio.lowlevel.checkpoint()
            assert open_descriptors() == before + 1
            reader.close()
            ours.close()
        assert open_descriptors() == before - 1  # the socket itself

    async def test_are_not_waited_for_once_it_is_closed(
        self, ends: tuple[socket.socket, socket.socket]
    ) -> None:
        """Whoever waits is notified."""
        ours, _ = ends
        reader = PacketReader(ours)

        async def receive() -> None:
            with pytest.raises(anyio.ClosedResourceError):
                await reader.receive()

        with anyio.fail_after(20):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(receive)
                await anyio.wait_all_tasks_blocked()
                reader.close()
                anyio.notify_closing(ours)
            await receive()
