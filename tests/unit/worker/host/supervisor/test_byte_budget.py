"""The memory for the results of one execution."""

from __future__ import annotations

import anyio
import pytest

from caps.worker.host.supervisor.byte_budget import MUCH_BYTES, ByteBudget, current_share

pytestmark = pytest.mark.anyio


async def test_a_call_waits_until_others_have_given_back_enough() -> None:
    """Two fit; the third begins when the result of the first is sent."""
    budget, begun, sent = ByteBudget(125), [], [anyio.Event() for _ in range(3)]

    async def call(number: int) -> None:
        with budget.share() as share:
            await share.reserve(50)
            begun.append(number)
            share.settle(40)
            await sent[number].wait()

    async with anyio.create_task_group() as group:
        for number in range(3):
            group.start_soon(call, number)
        await anyio.wait_all_tasks_blocked()
        assert begun == [0, 1]
        sent[0].set()
        await anyio.wait_all_tasks_blocked()
        assert begun == [0, 1, 2]
        for event in sent:
            event.set()


async def test_a_call_that_wants_more_than_there_is_runs_alone() -> None:
    """Otherwise it would wait for ever."""
    budget = ByteBudget(100)
    with budget.share() as share:
        await share.reserve(1000)


async def test_a_call_that_is_cancelled_gives_back_what_it_held() -> None:
    """Also if it waited and held nothing yet."""
    budget = ByteBudget(100)
    with budget.share() as first:
        await first.reserve(100)
        with anyio.move_on_after(0.01), budget.share() as second:
            await second.reserve(1)
    with budget.share() as third:
        await third.reserve(100)


async def test_the_share_of_a_call_is_found_by_what_it_calls() -> None:
    """Without a supervisor there is one that bounds nothing else."""
    with ByteBudget().share() as share:
        assert current_share() is share
    assert current_share() is not share


async def test_a_budget_says_that_much_was_held() -> None:
    """Then the memory is given back to the system."""
    budget = ByteBudget()
    with budget.share() as share:
        share.settle(MUCH_BYTES)
        assert not budget.was_large
        share.settle(MUCH_BYTES + 1)
    assert budget.was_large
