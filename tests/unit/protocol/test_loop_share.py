"""The account of a channel's time on the event loop."""

from __future__ import annotations

import asyncio
import socket
import time

import pytest

from caps.protocol.asyncio_reader import AsyncioReader
from caps.protocol.loop_share import LoopShare


def test_a_burst_is_free_and_what_follows_it_is_paid_off() -> None:
    """Fifty milliseconds in one go, then a rest of twice the debt; nothing is owed after it."""
    share = LoopShare()
    assert share.charge(0.03, 100.0) == 0
    assert share.charge(0.03, 100.0) == pytest.approx(0.12)
    assert share.charge(0.03, 100.12) == 0


def test_light_use_never_has_to_rest() -> None:
    """A fifth of the loop's time is paid off as it is used."""
    share = LoopShare()
    assert [share.charge(0.002, at / 100) for at in range(1000)] == [0.0] * 1000


def test_channels_that_rest_share_the_half(monkeypatch: pytest.MonkeyPatch) -> None:
    """With three at rest, the fourth rests four times as long as alone."""
    alone = LoopShare().charge(0.1, 1.0)
    monkeypatch.setattr(LoopShare, "resting", 3)
    assert LoopShare().charge(0.1, 1.0) == pytest.approx(4 * alone)


def test_a_channel_is_alone_if_nothing_else_rests_or_uses_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Then its debt is forgiven; a rest that ended early would begin again otherwise."""
    share = LoopShare()
    monkeypatch.setattr(LoopShare, "resting", 1)
    assert share.is_alone(0.00003)
    assert not share.is_alone(0.001)
    monkeypatch.setattr(LoopShare, "resting", 2)
    assert not share.is_alone(0.0)
    assert share.charge(0.1, 100.0) > 0
    share.forgive(100.01)
    assert share.charge(0.01, 100.02) == 0


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_channel_that_is_alone_is_read_again_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long its rest would be: it leaves the loop to nobody."""
    monkeypatch.setattr(LoopShare, "charge", lambda *_: 3600.0)
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    with ours, theirs:
        reader, took = AsyncioReader(ours), list[bytes]()

        def take(data: bytes) -> str | None:
            took.append(data)
            theirs.send(b"more")
            return "enough" if len(took) == 3 else None

        theirs.send(b"first")
        async with asyncio.timeout(60):
            assert await reader.read(take) == "enough"
        reader.close()
    assert LoopShare.resting == 0


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_channel_that_takes_the_loop_is_not_read_while_it_rests() -> None:
    """It took a tenth of a second, so the loop does other things for two before it reads again."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    with ours, theirs:
        reader, took, taken = AsyncioReader(ours), [], asyncio.Event()

        def take(data: bytes) -> str | None:
            took.append(data)
            taken.set()
            until = time.thread_time() + 0.1
            while time.thread_time() < until:
                pass
            theirs.send(b"more")
            return "enough" if len(took) == 2 else None

        theirs.send(b"first")
        reading = asyncio.ensure_future(reader.read(take))
        await taken.wait()
        assert LoopShare.resting == 1
        theirs.send(b"more")
        for _ in range(50):
            await asyncio.sleep(0)
        assert took == [b"first"]
        assert await reading == "enough"
        assert len(took) == 2
        assert LoopShare.resting == 1
        reader.close()
        assert LoopShare.resting == 0
