"""The bytes that are held for one execution."""

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


async def test_everything_that_is_held_is_counted_in_one_sum() -> None:
    """Requests, the frame being read, what is decoded, results, and what is kept to the end."""
    budget = ByteBudget(1000)
    budget.keep(1)
    budget.hold_requests(20, reading=300)
    with budget.decoding(40) as room, budget.share() as share:
        share.settle(600)
        assert (room, budget.held) == (40, 961)
    assert budget.held == 321
    budget.hold_requests(0)
    assert budget.held == 1


async def test_a_message_is_decoded_in_what_room_there_is() -> None:
    """It never takes more than is left, so that its decoder knows when to stop."""
    budget = ByteBudget(100)
    budget.hold_requests(70)
    with budget.decoding(50) as first, budget.decoding(50) as second:
        assert (first, second, budget.held) == (30, 0, 100)


async def test_results_leave_room_for_requests() -> None:
    """A call can be made while others wait for their providers, so that it may end them."""
    budget = ByteBudget(100)
    with budget.share() as share, budget.share() as other:
        await share.reserve(80)
        with anyio.move_on_after(0.01) as scope:
            await other.reserve(1)
        assert scope.cancelled_caught
        await budget.wait_for_request(20)


async def test_a_result_is_built_although_requests_have_taken_everything() -> None:
    """They wait for it: one at a time, or nothing would ever end."""
    budget = ByteBudget(100)
    budget.hold_requests(500)
    with budget.share() as share, budget.share() as other:
        await share.reserve(50)
        with anyio.move_on_after(0.01) as scope:
            await other.reserve(50)
        assert scope.cancelled_caught


async def test_a_large_message_waits_for_calls_and_not_for_itself() -> None:
    """The beginning of the next frame may have come with it, and goes nowhere meanwhile."""
    budget, decoded = ByteBudget(100), anyio.Event()

    async def decode() -> None:
        await budget.wait_for_request(300)
        decoded.set()

    budget.hold_requests(10, reading=50)
    async with anyio.create_task_group() as group:
        with budget.share() as share:
            await share.reserve(10)
            group.start_soon(decode)
            await anyio.wait_all_tasks_blocked()
            budget.hold_requests(0, reading=50)
            await anyio.wait_all_tasks_blocked()
            assert not decoded.is_set()
        await decoded.wait()


async def test_what_is_kept_takes_its_part_and_no_more() -> None:
    """A policy may allow much output; its calls go on all the same."""
    budget = ByteBudget(80)
    budget.keep(1000)
    with budget.decoding(1000) as room:
        assert room == 50
