"""Slots that owners share: bounded shares, and turns between those that wait."""

from __future__ import annotations

import anyio
import pytest
from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint

from caps.worker.host.pool.fair_slots import FairSlots

pytestmark = pytest.mark.anyio


class Callers:
    """Callers that wait for slots, and the order in which they got them."""

    def __init__(self, slots: FairSlots, tasks: TaskGroup) -> None:
        self.slots = slots
        self.served: list[str] = []
        self._tasks = tasks

    async def arrive(self, owner: str, count: int = 1) -> None:
        for _ in range(count):
            self._tasks.start_soon(self._acquire, owner)
        await settle()

    async def _acquire(self, owner: str) -> None:
        await self.slots.acquire(owner)
        self.served.append(owner)


async def settle() -> None:
    for _ in range(5):
        await checkpoint()


async def test_a_free_slot_is_taken_without_waiting() -> None:
    """And one more than there are is not."""
    slots = FairSlots(2, 2)
    assert [slots.acquire_nowait(owner) for owner in "aba"] == [True, True, False]
    slots.release("b")
    assert slots.acquire_nowait("a")


async def test_no_owner_has_more_than_its_share() -> None:
    """The rest is free for others, however many of its callers wait."""
    slots = FairSlots(4, 2)
    async with anyio.create_task_group() as tasks:
        callers = Callers(slots, tasks)
        await callers.arrive("a", 5)
        assert callers.served == ["a", "a"]
        await callers.arrive("b")
        assert callers.served == ["a", "a", "b"]
        slots.release("b")
        await settle()
        assert callers.served == ["a", "a", "b"]
        tasks.cancel_scope.cancel()


async def test_owners_take_turns() -> None:
    """One that queued a hundred callers gets one slot, then the next owner does."""
    slots = FairSlots(1, 1)
    async with anyio.create_task_group() as tasks:
        callers = Callers(slots, tasks)
        await callers.arrive("a", 100)
        await callers.arrive("b", 2)
        await callers.arrive("c")
        for _ in range(5):
            slots.release(callers.served[-1])
            await settle()
        assert callers.served == ["a", "a", "b", "c", "a", "b"]
        tasks.cancel_scope.cancel()


async def test_a_caller_that_gives_up_loses_nothing_for_others() -> None:
    """Neither in the queue, nor when its turn comes in the same moment."""
    slots = FairSlots(1, 1)

    async def use(owner: str) -> None:
        await slots.acquire(owner)
        slots.release(owner)

    for is_served in (False, True):
        assert slots.acquire_nowait("a")
        async with anyio.create_task_group() as tasks:
            async with anyio.create_task_group() as impatient:
                impatient.start_soon(use, "b")
                await settle()
                tasks.start_soon(use, "c")
                await settle()
                if is_served:
                    slots.release("a")
                impatient.cancel_scope.cancel()
            if not is_served:
                slots.release("a")
        assert slots.acquire_nowait("b")
        slots.release("b")
