"""Threads by shares: a slow caller holds up itself, and nobody else."""

from __future__ import annotations

import threading

import anyio
import anyio.to_thread
import pytest
from anyio.lowlevel import checkpoint

from caps.worker.host.pool.thread_shares import ThreadShares

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class Slow:
    """A function that waits until it is released, and counts its calls."""

    def __init__(self) -> None:
        self.released = threading.Event()
        self.entered = threading.Semaphore(0)
        self.calls = 0

    def __call__(self) -> None:
        self.calls += 1
        self.entered.release()
        self.released.wait()

    async def wait_entered(self, count: int) -> None:
        for _ in range(count):
            assert await anyio.to_thread.run_sync(self.entered.acquire, True, 10)


async def test_a_caller_has_a_share_and_others_have_theirs() -> None:
    """Forty slow calls of one execution take what it may have; the rest is for others."""
    threads, slow = ThreadShares(8, per_principal=4, per_execution=2), Slow()
    async with anyio.create_task_group() as tasks:
        for _ in range(40):
            tasks.start_soon(threads.run, "eve", "e1", slow)
        await slow.wait_entered(2)
        assert await threads.run("eve", "e2", lambda: "another execution") == "another execution"
        for _ in range(40):
            tasks.start_soon(threads.run, "eve", "e2", slow)
        await slow.wait_entered(2)
        assert await threads.run("ada", "a1", lambda: "another principal") == "another principal"
        assert slow.calls == 4
        slow.released.set()
    assert slow.calls == 80


async def test_an_abandoned_thread_counts_until_it_ends() -> None:
    """Otherwise short deadlines would give a caller any number of threads."""
    threads, slow = ThreadShares(8, per_principal=4, per_execution=1), Slow()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(threads.run, "eve", "e1", slow)
        await slow.wait_entered(1)
        tasks.cancel_scope.cancel()
    with anyio.move_on_after(0.01) as waited:
        await threads.run("eve", "e1", slow)
    assert (waited.cancelled_caught, slow.calls) == (True, 1)
    slow.released.set()
    with anyio.fail_after(10):
        assert await threads.run("eve", "e1", lambda: "free") == "free"


async def test_a_call_that_is_cancelled_before_it_begins_has_no_effect_and_no_slot() -> None:
    """Its thread may still be on its way."""
    threads, slow = ThreadShares(1, per_principal=1, per_execution=1), Slow()
    slow.released.set()
    for _ in range(20):
        with anyio.CancelScope() as scope:
            scope.cancel()
            await threads.run("eve", "e1", slow)
    await checkpoint()
    with anyio.fail_after(10):
        assert await threads.run("eve", "e1", lambda: "free") == "free"


async def test_errors_pass_and_free_the_slot() -> None:
    threads = ThreadShares(1, per_principal=1, per_execution=1)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            await threads.run("eve", "e1", lambda: 1 // 0)
