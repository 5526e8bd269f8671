"""(5) Transports: one interface, two backends, the same behaviour. On both event loops."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator

import anyio
import anyio.lowlevel
import pytest

from caps.protocol.transport import ChannelClosedError, MemoryTransport, SocketTransport, Transport

pytestmark = pytest.mark.anyio

Ends = tuple[Transport, Transport]


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["memory", "socket"])
async def ends(request: pytest.FixtureRequest) -> AsyncIterator[Ends]:
    left: Transport
    right: Transport
    if request.param == "memory":
        left, right = MemoryTransport.pair()
    else:
        left, raw = SocketTransport.pair()
        right = SocketTransport(raw)
    yield left, right
    left.close()
    right.close()


async def received(transport: Transport, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = await transport.receive()
        assert piece
        data += piece
    return data


async def test_bytes_arrive_in_order_in_both_directions(ends: Ends) -> None:
    """Each end reads what the other wrote."""
    left, right = ends
    await left.send(b"one")
    await left.send(b"two")
    await right.send(b"back")
    assert await received(right, 6) == b"onetwo"
    assert await received(left, 4) == b"back"


async def test_sending_nothing_is_not_an_end(ends: Ends) -> None:
    """Empty bytes mean that the peer has closed, so they are never sent."""
    left, right = ends
    await left.send(b"")
    await left.send(b"x")
    assert await right.receive() == b"x"


async def test_what_was_sent_before_closing_still_arrives(ends: Ends) -> None:
    """The end comes after the bytes, and stays the end."""
    left, right = ends
    await left.send(b"last")
    left.close()
    assert [await right.receive() for _ in range(3)] == [b"last", b"", b""]


async def test_sending_to_a_closed_peer_raises(ends: Ends) -> None:
    """A peer that is gone is told by name."""
    left, right = ends
    right.close()
    with pytest.raises(ChannelClosedError):
        await left.send(b"x")


async def test_a_closed_end_neither_sends_nor_receives(ends: Ends) -> None:
    """Closing is final, and may be done twice."""
    left, _right = ends
    left.close()
    left.close()
    with pytest.raises(ChannelClosedError):
        await left.send(b"x")
    with pytest.raises(ChannelClosedError):
        await left.receive()


async def test_closing_wakes_whoever_waits_on_this_end(ends: Ends) -> None:
    """A task that waits for bytes gets ChannelClosedError, not an endless wait."""
    left, _right = ends
    woken: list[str] = []

    async def wait() -> None:
        try:
            await left.receive()
        except ChannelClosedError:
            woken.append("closed")

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            left.close()
    assert woken == ["closed"]


async def test_the_peer_closing_wakes_whoever_waits(ends: Ends) -> None:
    """A task that waits for bytes learns that there will be none."""
    left, right = ends
    got: list[bytes] = []

    async def wait() -> None:
        got.append(await left.receive())

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            right.close()
    assert got == [b""]


async def test_overlapping_sends_do_not_mix(ends: Ends) -> None:
    """Bytes of two senders never interleave, however full the channel is."""
    left, right = ends
    size = 1 << 20
    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            for letter in (b"a", b"b", b"c"):
                group.start_soon(left.send, letter * size)
            data = await received(right, 3 * size)
    assert {data[start : start + size] for start in range(0, len(data), size)} == {
        letter * size for letter in (b"a", b"b", b"c")
    }


async def test_a_socket_that_is_reset_has_ended() -> None:
    """A peer that dies with unread bytes resets the channel; that is an end like another."""
    left, raw = SocketTransport.pair()
    await left.send(b"never read")
    raw.close()
    with anyio.fail_after(5):
        assert await left.receive() == b""
    left.close()


async def test_the_workers_end_is_a_plain_blocking_socket() -> None:
    """The worker reads and writes it without an event loop."""
    left, raw = SocketTransport.pair()
    assert (raw.getblocking(), raw.family) == (True, socket.AF_UNIX)
    raw.close()
    left.close()


async def test_a_send_that_is_cancelled_midway_tears_no_frame() -> None:
    """What was begun is finished before the next bytes go out."""
    left, raw = SocketTransport.pair()
    right = SocketTransport(raw)
    frame = bytes(range(256)) * 16384  # more than the buffers of a socket pair hold
    with anyio.move_on_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(left.send, frame)
            await anyio.wait_all_tasks_blocked()
            group.cancel_scope.cancel()
    async with anyio.create_task_group() as group:
        group.start_soon(left.send, b"next")
        assert await received(right, len(frame) + 4) == frame + b"next"
    left.close()
    right.close()


@pytest.mark.parametrize("turns", range(4))
async def test_bytes_that_came_for_a_cancelled_reader_are_not_lost(turns: int) -> None:
    """They are the first that the next one gets, however close the two came together."""
    left, raw = SocketTransport.pair()
    right = SocketTransport(raw)
    try:
        got = b""
        async with anyio.create_task_group() as tasks:
            reading = anyio.CancelScope()

            async def read() -> None:
                nonlocal got
                with reading:
                    got = await left.receive()

            tasks.start_soon(read)
            await anyio.wait_all_tasks_blocked()
            await right.send(b"kept")
            for _ in range(turns):
                await anyio.lowlevel.checkpoint()
            reading.cancel()
        assert got + await received(left, 4 - len(got)) == b"kept"
    finally:
        left.close()
        right.close()


async def test_bytes_that_nobody_reads_stay_in_the_kernel_and_cost_no_turns() -> None:
    """A peer that writes on is held back, and is read when somebody wants to."""
    left, raw = SocketTransport.pair()
    right = SocketTransport(raw)
    try:
        await right.send(b"one")
        assert await left.receive() == b"one"
        await right.send(b"two")
        for _ in range(3):
            await anyio.lowlevel.checkpoint()
        assert await left.receive() == b"two"
    finally:
        left.close()
        right.close()
