"""Large messages are worked on in two threads, in which executions take turns."""

from __future__ import annotations

import sys
import threading

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from caps.worker.host.supervisor.off_loop import run_off_loop

pytestmark = pytest.mark.anyio

LARGE = 1_000_000


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def test_executions_take_turns() -> None:
    """One that has much to do does not keep the others waiting for all of it."""
    release, done = threading.Event(), []

    def work(owner: str) -> None:
        release.wait(10)
        done.append(owner)

    async with anyio.create_task_group() as group:
        for owner in ["abuser"] * 5 + ["honest"]:
            group.start_soon(run_off_loop, owner, LARGE, work, owner)
            await anyio.wait_all_tasks_blocked()
        release.set()
    # The first was running, and the second was next, when the honest one came.
    assert done.index("honest") <= 2
    assert len(done) == 6


async def test_what_is_done_soon_never_waits_for_the_rest() -> None:
    """It has a thread of its own."""
    release = threading.Event()
    async with anyio.create_task_group() as group:
        group.start_soon(run_off_loop, "abuser", LARGE, release.wait, 10)
        await anyio.wait_all_tasks_blocked()
        assert await run_off_loop("honest", 5000, lambda: "done") == "done"
        release.set()


async def test_threads_switch_more_often_meanwhile() -> None:
    """And as before afterwards, also if the work failed."""
    usual = sys.getswitchinterval()
    assert await run_off_loop("a", LARGE, sys.getswitchinterval) < usual
    with pytest.raises(ZeroDivisionError):
        await run_off_loop("a", LARGE, lambda: 1 / 0)
    assert sys.getswitchinterval() == usual
