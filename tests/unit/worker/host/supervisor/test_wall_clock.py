"""The wall clock of an execution stands still while somebody outside is waited for."""

from __future__ import annotations

import math

import anyio
import pytest

from caps.worker.host.supervisor.wall_clock import WallClock

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_while_it_stands_still_the_time_cannot_be_up() -> None:
    """And what was left before is left afterwards."""
    clock = WallClock()
    with clock.start(60_000) as scope:
        before = scope.deadline
        with clock.paused():
            assert scope.deadline == math.inf
        assert before <= scope.deadline < before + 60


async def test_several_reasons_are_one_pause() -> None:
    """It continues when the last pause ends, and overlaps count once."""
    clock = WallClock()
    with clock.start(60_000) as scope:
        with clock.paused():
            with clock.paused():
                inner = clock.paused_s
            assert scope.deadline == math.inf
            assert clock.paused_s >= inner
        assert scope.deadline < math.inf


async def test_the_time_that_is_left_still_ends_it() -> None:
    """A pause gives nothing beyond itself."""
    clock = WallClock()
    with clock.start(1) as scope:
        with clock.paused():
            await anyio.sleep(0.01)
        await anyio.sleep_forever()
    assert scope.cancelled_caught


async def test_it_knows_how_long_it_stood_without_a_start() -> None:
    """A broker whose code was not sent yet has a clock, too."""
    clock = WallClock()
    assert clock.paused_s == 0
    with clock.paused():
        pass
    assert clock.paused_s >= 0
