"""How a program ends in a live worker: what it left running is ended, lost errors are reported."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from caps import MemoryAuditLog, Runtime, builtin_registry


@pytest.fixture(scope="module")
def runtime() -> Iterator[Runtime]:
    """A runtime that grants the clock."""
    policy = {"allow": ["time.now"]}
    with Runtime(policy, registry=builtin_registry(), audit=MemoryAuditLog()) as opened:
        yield opened


def test_a_task_that_was_left_is_cancelled_and_may_clean_up(runtime: Runtime) -> None:
    """Its clean-up may even call a capability; the result waits for it."""
    source = """
import asyncio
async def left():
    try:
        await asyncio.sleep(1000)
    finally:
        print("cleaned", (await caps.time.now()) is not None)
asyncio.create_task(left())
await asyncio.sleep(0)
5
"""
    result = runtime.run_sync(source)
    assert (result.value, result.stdout) == (5, "cleaned True\n")


def test_a_task_that_will_not_end_does_not_keep_the_result_back(runtime: Runtime) -> None:
    """It is abandoned after a while."""
    source = """
import asyncio
async def stubborn():
    while True:
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            pass
asyncio.create_task(stubborn())
await asyncio.sleep(0)
5
"""
    assert runtime.run_sync(source).value == 5


def test_a_task_of_a_program_that_never_awaits_has_its_first_step(runtime: Runtime) -> None:
    """As one that is made just before the end of `asyncio.run`."""
    source = """
import asyncio
async def started():
    print("started")
    await asyncio.sleep(1000)
asyncio.create_task(started())
7
"""
    result = runtime.run_sync(source)
    assert (result.value, result.stdout) == (7, "started\n")


def test_an_asynchronous_generator_that_was_left_is_closed(runtime: Runtime) -> None:
    """Even if the program ends right after it."""
    source = """
import asyncio
async def numbers():
    try:
        yield 1
    finally:
        await asyncio.sleep(0)
        print("closed")
async for n in numbers():
    break
"""
    assert runtime.run_sync(source).stdout == "closed\n"


def test_an_error_that_nobody_saw_is_reported(runtime: Runtime) -> None:
    """With the user's frames, after what was printed before it; the result stays."""
    source = """
import asyncio
async def fails():
    raise ValueError("unseen")
task = asyncio.create_task(fails(), name="mine")
await asyncio.sleep(0)
print("printed")
1
"""
    result = runtime.run_sync(source)
    assert result.value == 1
    assert result.stdout == (
        "printed\n"
        "Task 'mine' exception was never retrieved\n"
        "Traceback (most recent call last):\n"
        '  File "<agent>", line 4, in fails\n'
        '    raise ValueError("unseen")\n'
        "ValueError: unseen\n"
    )


def test_a_call_that_was_not_awaited_is_reported_where_it_stands(runtime: Runtime) -> None:
    """The most frequent mistake of agents: a capability without `await`."""
    result = runtime.run_sync('print("a")\ncaps.time.now()\nprint("b")\n')
    assert result.stdout == (
        "a\n"
        "<agent>:2: RuntimeWarning: coroutine 'caps.time.now' was never awaited\n"
        "  caps.time.now()\n"
        "b\n"
    )


def test_coroutines_that_were_kept_and_never_awaited_are_reported(runtime: Runtime) -> None:
    """At the end, with the line of their definition."""
    source = "async def f(n):\n    return n\nkept = [f(n) for n in range(3)]\nprint(len(kept))"
    assert runtime.run_sync(source).stdout == (
        "3\n<agent>:1: RuntimeWarning: coroutine 'f' was never awaited\n  async def f(n):\n"
    )


def test_a_program_that_exits_in_a_task_ends_with_that(runtime: Runtime) -> None:
    """As in asyncio, nothing can delay it; the rest is cancelled."""
    source = """
import asyncio
async def leaves():
    raise SystemExit(3)
asyncio.create_task(leaves())
try:
    await asyncio.sleep(1000)
finally:
    print("cancelled")
"""
    result = runtime.run_sync(source)
    assert result.error is not None
    assert (result.error.type, result.stdout) == ("SystemExit", "cancelled\n")


def test_a_gather_of_a_hundred_calls_gives_a_hundred_answers(runtime: Runtime) -> None:
    """The whole way, through groups and semaphores as agents write them."""
    source = """
import asyncio
limit = asyncio.Semaphore(10)
async def one():
    async with limit, asyncio.timeout(60):
        return await caps.time.now()
async with asyncio.TaskGroup() as group:
    tasks = [group.create_task(one()) for _ in range(50)]
len([task.result() for task in tasks] + await asyncio.gather(*(one() for _ in range(50))))
"""
    assert runtime.run_sync(source).value == 100
