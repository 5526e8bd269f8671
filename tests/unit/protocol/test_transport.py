"""(5) Transports: one interface, two backends, the same behaviour. On both event loops."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import math
import socket
import weakref
from collections.abc import AsyncIterator
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from caps.protocol.transport import (
    ChannelClosedError,
    MemoryTransport,
    ReadTimeout,
    SocketTransport,
    Transport,
)

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
    """A closed peer is reported by its own error."""
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


async def test_closing_wakes_the_waiting_reader_on_this_end(ends: Ends) -> None:
    """A task that waits for bytes gets ChannelClosedError, not an endless wait."""
    left, _right = ends
    woken: list[str] = []

    async def wait() -> None:
        try:
            await left.receive()
        except ChannelClosedError:
            woken.append("closed")

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            left.close()
    assert woken == ["closed"]


async def test_the_peer_closing_wakes_the_waiting_reader(ends: Ends) -> None:
    """A task that waits for bytes learns that there will be none."""
    left, right = ends
    got: list[bytes] = []

    async def wait() -> None:
        got.append(await left.receive())

    with anyio.fail_after(20):
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
    with anyio.fail_after(20):
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
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(left.send, frame)
            await anyio.wait_all_tasks_blocked()
            group.cancel_scope.cancel()
    async with anyio.create_task_group() as group:
        group.start_soon(left.send, b"next")
        assert await received(right, len(frame) + 4) == frame + b"next"
    left.close()
    right.close()


async def test_a_send_that_is_cancelled_before_its_turn_tears_no_frame() -> None:
    """The socket took a part of it, and the sender is cancelled before it can wait."""
    left, raw = SocketTransport.pair()
    right = SocketTransport(raw)
    frame = bytes(range(256)) * 16384  # more than the buffers of a socket pair hold
    with anyio.CancelScope() as scope:
        scope.cancel()
        await left.send(frame)
    assert scope.cancelled_caught
    with anyio.fail_after(20):
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


async def test_what_comes_is_handed_over_until_something_comes_of_it(ends: Ends) -> None:
    """The consumer of the bytes says when the wait is over, and what its result is."""
    left, right = ends
    got: list[bytes] = []

    def take(data: bytes) -> str | None:
        got.append(data)
        return "enough" if b"".join(got).endswith(b"!") else None

    async with anyio.create_task_group() as group:

        async def speak() -> None:
            for word in (b"one", b"two", b"three!"):
                await right.send(word)
                await anyio.wait_all_tasks_blocked()

        group.start_soon(speak)
        assert await left.receive_until(take) == "enough"
    assert b"".join(got) == b"onetwothree!"


async def test_an_error_of_who_takes_is_raised_where_it_is_waited_for(ends: Ends) -> None:
    """And the transport still works: later bytes can be received."""
    left, right = ends

    def refuse(data: bytes) -> None:
        raise ZeroDivisionError(data)

    await right.send(b"x")
    with pytest.raises(ZeroDivisionError, match="x"):
        await left.receive_until(refuse)
    await right.send(b"y")
    assert await left.receive() == b"y"


async def test_the_end_is_handed_over_as_nothing(ends: Ends) -> None:
    """As `receive` returns it."""
    left, right = ends
    right.close()
    assert await left.receive_until(lambda data: [data]) == [b""]


async def test_who_waits_for_what_is_taken_is_told_when_this_end_closes(ends: Ends) -> None:
    """Nothing comes any more."""
    left, _ = ends
    async with anyio.create_task_group() as group:

        async def wait() -> None:
            with pytest.raises(ChannelClosedError):
                await left.receive_until(lambda _: None)

        group.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        left.close()


async def test_bytes_read_for_somebody_who_was_cancelled_are_taken_by_the_next() -> None:
    """However the next one waits for them."""
    left, raw = SocketTransport.pair()
    with raw:
        scope = anyio.CancelScope()

        async def wait() -> None:
            with scope:
                await left.receive()

        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            raw.send(b"kept")
            scope.cancel()
        with anyio.fail_after(20):
            assert await left.receive_until(lambda data: data) == b"kept"
    left.close()


async def test_what_is_sent_immediately_arrives(ends: Ends) -> None:
    """Nobody has to wait for it if there is room."""
    left, right = ends
    assert left.send_now(b"now")
    assert await received(right, 3) == b"now"


async def test_what_has_no_room_goes_before_what_is_sent_next() -> None:
    """No frame is torn, and an empty send is enough to see to the rest."""
    left, raw = SocketTransport.pair()
    right = SocketTransport(raw)
    large = b"x" * (4 << 20)
    assert not left.send_now(large)
    assert not left.send_now(b"second")
    async with anyio.create_task_group() as group:
        group.start_soon(left.send, b"third")
        got = await received(right, len(large) + 11)
    assert got == large + b"secondthird"
    assert left.send_now(b"fourth")
    left.close()
    right.close()


async def test_what_is_sent_immediately_does_not_overtake_a_send_in_flight() -> None:
    """Though there is room by then: it would stand in the middle of the frame."""
    left, raw = SocketTransport.pair()
    frame = bytes(range(256)) * 16384  # more than the buffers of a socket pair hold
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(left.send, frame)
            await anyio.wait_all_tasks_blocked()
            got = raw.recv(1 << 20)
            assert not left.send_now(b"next")
            right = SocketTransport(raw)
            group.start_soon(left.send, b"")
            got += await received(right, len(frame) + 4 - len(got))
    assert got == frame + b"next"
    left.close()
    right.close()


async def test_what_is_sent_immediately_to_nobody_is_reported(ends: Ends) -> None:
    """As for `send`."""
    left, _ = ends
    left.close()
    with pytest.raises(ChannelClosedError):
        left.send_now(b"x")


async def test_a_cancelled_send_leaves_what_was_sent_immediately_behind_it() -> None:
    """In the order in which it was sent, and nothing of it is lost."""
    left, raw = SocketTransport.pair()
    right = SocketTransport(raw)
    large = b"x" * (4 << 20)
    async with anyio.create_task_group() as group:
        group.start_soon(left.send, large)
        await anyio.wait_all_tasks_blocked()
        assert not left.send_now(b"second")
        group.cancel_scope.cancel()
    async with anyio.create_task_group() as group:
        group.start_soon(left.send, b"third")
        assert await received(right, len(large) + 11) == large + b"secondthird"
    left.close()
    right.close()


async def test_who_was_cancelled_by_what_it_took_is_not_told_of_its_error(
    anyio_backend_name: str,
) -> None:
    """Nobody waits for it any more, and the event loop does no work for it."""
    left, raw = SocketTransport.pair()
    bothered: list[dict[str, Any]] = []
    if anyio_backend_name == "asyncio":
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _loop, context: bothered.append(context))
    with raw, anyio.CancelScope() as scope:

        def take(_data: bytes) -> None:
            scope.cancel()
            raise ZeroDivisionError

        raw.send(b"x")
        with pytest.raises((ZeroDivisionError, anyio.get_cancelled_exc_class())):
            await left.receive_until(take)
    left.close()
    assert bothered == []


async def test_what_is_taken_is_taken_in_the_context_of_who_waits(ends: Ends) -> None:
    """Also if somebody else has read from the transport before."""
    left, right = ends
    reader = contextvars.ContextVar("reader", default="nobody")
    seen: list[str] = []

    def take(data: bytes) -> bytes | None:
        seen.append(reader.get())
        return data if data.endswith(b"!") else None

    async def read(name: str) -> None:
        reader.set(name)
        await left.receive_until(take)

    for name in ("alice", "bob"):
        async with anyio.create_task_group() as group:
            group.start_soon(read, name)
            await right.send(b"one")
            await anyio.wait_all_tasks_blocked()
            await right.send(b"two!")
    assert set(seen) == {"alice", "bob"}
    assert seen == sorted(seen)


async def test_who_waits_too_long_is_told_and_misses_nothing(ends: Ends) -> None:
    """What did come was delivered, and what comes later is for the next reader."""
    left, right = ends
    taken: list[bytes] = []
    await left.send(b"early")
    with pytest.raises(ReadTimeout):
        await right.receive_until(taken.append, 0.05)
    assert taken == [b"early"]
    await left.send(b"late")
    assert await right.receive_until(lambda data: data, 60) == b"late"


@pytest.mark.parametrize("within_s", [60, math.inf])
async def test_nobody_is_held_to_the_time_of_who_waited_before(ends: Ends, within_s: float) -> None:
    """A read that has its bytes has no time that could be up, and the next has its own."""
    left, right = ends
    await left.send(b"one")
    assert await right.receive_until(lambda data: data, 0.01) == b"one"

    async def send_when_the_first_would_be_overdue() -> None:
        await anyio.sleep(0.05)
        await left.send(b"two")

    async with anyio.create_task_group() as group:
        group.start_soon(send_when_the_first_would_be_overdue)
        assert await right.receive_until(lambda data: data, within_s) == b"two"


async def test_a_shorter_time_is_kept_after_a_longer_one(ends: Ends) -> None:
    """Whatever somebody else might have waited for."""
    left, right = ends
    await left.send(b"one")
    assert await right.receive_until(lambda data: data, 60) == b"one"
    with anyio.fail_after(20), pytest.raises(ReadTimeout):
        await right.receive_until(lambda data: data, 0.01)


async def test_a_longer_time_is_kept_after_the_shorter_one_was_let_go(ends: Ends) -> None:
    """The timer of the first has no effect, and then that of the second fires."""
    left, right = ends
    await left.send(b"one")
    assert await right.receive_until(lambda data: data, 0.01) == b"one"
    with anyio.fail_after(20), pytest.raises(ReadTimeout):
        await right.receive_until(lambda data: data, 0.05)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_closed_end_is_kept_by_no_clock() -> None:
    """What somebody might have waited for is released with it, and not an hour later."""
    left, raw = SocketTransport.pair()
    with raw:
        raw.send(b"one")
        assert await left.receive_until(lambda data: data, 3600) == b"one"
    reader = weakref.ref(left._incoming)
    left.close()
    del left
    gc.collect()
    assert reader() is None


async def test_a_reader_keeps_nothing_of_who_has_read() -> None:
    """Whatever keeps the transport of a worker that has ended keeps no session with it."""
    variable = contextvars.ContextVar[str]("session")
    ours, theirs = SocketTransport.pair()

    async def read() -> None:
        variable.set("a session")
        assert await ours.receive() == b"x"

    theirs.send(b"x")
    async with anyio.create_task_group() as group:
        group.start_soon(read)
    reader = ours._incoming  # None on trio
    assert reader is None or variable not in reader._context
    ours.close()
    theirs.close()
