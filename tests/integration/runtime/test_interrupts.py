"""Interrupted cells on real workers: the code stops as at Ctrl-C, and the session goes on."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from caps import CapabilityRegistry, MemoryAuditLog, Runtime, Session
from caps.capabilities.runtime.result import ExecutionResult
from caps.security.audit import DecisionMade, ExecutionEnded, OutcomeRecorded

pytestmark = pytest.mark.anyio

# Each says on which line it is interrupted.
STOPPED = {
    "a loop": ("n = 0\nwhile True:\n    n += 1", (2, 3)),
    "an empty loop": ("while True: pass", (1,)),
    "printing": ("while True:\n    print('x')", (1, 2)),
    "a comprehension": ("import itertools\n[str(n) * 0 for n in itertools.count()]", (2,)),
    "a lambda called by C": ("import itertools\nmax(map(lambda n: n, itertools.count()))", (2,)),
    "a pause": ("import time\ntime.sleep(600)", (2,)),
    "a wait": ("import asyncio\nawait asyncio.sleep(600)", (2,)),
    "turns of the loop": ("import asyncio\nwhile True:\n    await asyncio.sleep(0)", (2, 3)),
    "a call": ("await caps.slow.wait()", (1,)),
    "many calls": ("while True:\n    await caps.slow.echo(n=1)", (1, 2)),
    "calls that wait": (
        "import asyncio\nawait asyncio.gather(*(caps.slow.wait() for _ in range(5)))",
        (2,),
    ),
    "a loop of its own": (
        "import asyncio\nasync def f():\n    await asyncio.sleep(600)\nasyncio.run(f())",
        (3,),
    ),
    "another task": (
        "import asyncio\nasync def f():\n    while True:\n        n = 1\n"
        "t = asyncio.create_task(f())\nawait asyncio.sleep(600)",
        (3, 4),
    ),
    "a regular expression": ("import re\nre.match('(a*)*b', 'a' * 64)", (2,)),
    "large numbers": ("9**9**9", (1,)),
    "a guard": (
        "class A: pass\na, name = A(), 'x'\nwhile True:\n    setattr(a, name, 1)",
        (3, 4),
    ),
    "evaluated text": ("exec('while True:\\n    n = 1')", (1,)),
}

# Neither runs Python code nor looks for signals.
DEAF = "import itertools\nsum(itertools.repeat(0))"
STUBBORN = """
while True:
    try:
        print("begun")
        while True:
            n = 1
    except BaseException:
        pass
"""


class Scene:
    """A session whose cells have 300 ms, and what was recorded."""

    def __init__(self) -> None:
        self.audit = MemoryAuditLog()
        self.registry = CapabilityRegistry()
        self.waits = anyio.Event()
        self.registry.capability("slow.wait")(self.wait)
        self.registry.capability("slow.echo")(self.echo)

    async def wait(self) -> int:
        """Never answers by itself."""
        self.waits.set()
        await anyio.sleep_forever()
        return 0

    async def echo(self, n: int) -> int:
        """What it was given."""
        return n

    @asynccontextmanager
    async def session(self, **limits: Any) -> AsyncIterator[Session]:
        policy = {"allow": ["slow.*"], "limits": {"calls": 100_000, **limits}}
        async with (
            Runtime(policy, registry=self.registry, audit=self.audit) as runtime,
            runtime.session() as session,
        ):
            assert (await session.run("kept = 41")).ok
            yield session

    def outcomes(self) -> Counter[str]:
        """How many outcomes each allowed call has."""
        events = self.audit.events
        decided = [e for e in events if isinstance(e, DecisionMade) and e.decision == "allow"]
        found = Counter({f"{e.execution_id} {e.request_id}": 0 for e in decided})
        assert len(found) == len(decided)
        for event in events:
            if isinstance(event, OutcomeRecorded):
                found[f"{event.execution_id} {event.request_id}"] += 1
        return found


@pytest.fixture
def scene() -> Scene:
    return Scene()


async def stopped(scene: Scene, source: str) -> ExecutionResult:
    """The result of a cell that reaches its limit, in a session that keeps its names."""
    async with scene.session(wall_ms=300, output_bytes=16_000_000) as session:
        result = await session.run(source)
        after = await session.run("kept + 1")
    assert (after.value, after.note) == (42, None), (result.error, after.error)
    assert result.error is not None
    assert (result.status.value, result.error.type) == ("limit", "LimitExceededError")
    assert (result.error.details["limit"], result.value) == ("wall_ms", None)
    return result


class TestWhereCodeIsInterrupted:
    @pytest.mark.parametrize(("source", "lines"), STOPPED.values(), ids=STOPPED)
    async def test_whatever_yields_is_stopped_where_it_is(
        self, scene: Scene, source: str, lines: tuple[int, ...]
    ) -> None:
        """The result names the line, and the names of the session are kept."""
        result = await stopped(scene, source)
        assert result.error is not None
        assert result.error.line in lines

    async def test_the_error_of_an_execution_names_the_line_too(self) -> None:
        """Without a session the worker is killed afterwards, as always."""
        async with Runtime({"limits": {"wall_ms": 300}}, audit=MemoryAuditLog()) as runtime:
            result = await runtime.run("def f():\n    while True:\n        n = 1\nf()")
        assert result.error is not None
        assert result.error.line in (2, 3)
        assert [frame.function for frame in result.error.frames] == ["<module>", "f"]

    async def test_every_call_has_one_outcome(self, scene: Scene) -> None:
        """Calls that wait are cancelled, and that is recorded once."""
        await stopped(scene, STOPPED["calls that wait"][0])
        outcomes = [e for e in scene.audit.events if isinstance(e, OutcomeRecorded)]
        assert [e.status.value for e in outcomes] == ["cancelled"] * 5
        assert set(scene.outcomes().values()) == {1}


class TestCleanUp:
    async def test_finally_blocks_run(self, scene: Scene) -> None:
        """In functions, generators and tasks."""
        source = """
import asyncio
def numbers():
    try:
        while True:
            yield 1
    finally:
        print("generator")
async def other():
    try:
        await asyncio.sleep(600)
    finally:
        print("task")
task = asyncio.create_task(other())
await asyncio.sleep(0)
try:
    for n in numbers():
        pass
finally:
    print("block")
"""
        result = await stopped(scene, source)
        assert sorted(result.stdout.split()) == ["block", "generator", "task"]

    async def test_the_limit_counts_even_if_the_code_catches_the_interrupt(
        self, scene: Scene
    ) -> None:
        """It may end in its own way, but its value comes too late."""
        source = """
try:
    while True:
        n = 1
except KeyboardInterrupt as error:
    print("caught", error)
"a value"
"""
        result = await stopped(scene, source)
        assert result.stdout == "caught the code was interrupted\n"

    async def test_clean_up_that_waits_for_too_long_is_interrupted_again(
        self, scene: Scene
    ) -> None:
        """Of the cell itself, and of a task that it leaves."""
        source = """
import asyncio
async def waits():
    try:
        await asyncio.sleep(600)
    finally:
        await asyncio.sleep(600)
task = asyncio.create_task(waits())
await waits()
"""
        await stopped(scene, source)

    async def test_calls_after_the_wall_limit_are_refused(self, scene: Scene) -> None:
        """Time to stop is not time to act."""
        source = """
import asyncio
try:
    await asyncio.sleep(600)
finally:
    try:
        await caps.slow.echo(n=1)
    except LimitExceededError as error:
        print(error.limit)
"""
        assert (await stopped(scene, source)).stdout == "wall_ms\n"

    async def test_output_is_whole(self, scene: Scene) -> None:
        """An interrupt between two prints loses none of them, and doubles none."""
        result = await stopped(scene, "n = 0\nwhile True:\n    print(n)\n    n += 1")
        lines = result.stdout.split()
        assert lines == [str(n) for n in range(len(lines))]


class TestCodeThatDoesNotStop:
    @pytest.mark.parametrize("source", [DEAF, STUBBORN], ids=["deaf", "stubborn"])
    async def test_it_is_killed_and_its_names_are_lost(self, scene: Scene, source: str) -> None:
        """The kill comes from outside, whatever the code does; the next run says so."""
        async with scene.session(wall_ms=300) as session:
            result = await session.run(source)
            after = await session.run("'kept' in globals()")
        assert result.error is not None
        assert (result.status.value, result.error.details["limit"]) == ("limit", "wall_ms")
        assert "all names of the session are lost" in result.error.message
        assert after.value is False
        assert after.note is not None


class TestSessionInterrupt:
    async def test_it_stops_the_running_cell(self, scene: Scene) -> None:
        """The result is what the code made of it; nothing else changes."""
        results: list[ExecutionResult] = []
        async with scene.session() as session, anyio.create_task_group() as group:

            async def run() -> None:
                results.append(await session.run("x = 1\nawait caps.slow.wait()"))

            group.start_soon(run)
            await scene.waits.wait()
            assert await session.interrupt()
            assert [result.status.value for result in results] == ["code_failed"]
            assert (await session.run("x + kept")).value == 42
        (result,) = results
        assert result.error is not None
        assert (result.error.type, result.error.code) == ("KeyboardInterrupt", "interrupted")
        assert (result.error.line, result.started) == (2, True)
        assert set(scene.outcomes().values()) == {1}

    async def test_without_a_running_cell_it_does_nothing(self, scene: Scene) -> None:
        """Neither now nor to the next cell."""
        async with scene.session() as session:
            assert not await session.interrupt()
            assert (await session.run("kept")).value == 41

    async def test_code_that_does_not_stop_is_killed(self, scene: Scene) -> None:
        """The session goes on without its names."""
        results: list[ExecutionResult] = []
        async with scene.session() as session, anyio.create_task_group() as group:
            printed = anyio.Event()

            async def run() -> None:
                results.append(await session.run(STUBBORN, on_output=lambda _: printed.set()))

            group.start_soon(run)
            await printed.wait()
            assert await session.interrupt()
            after = await session.run("'kept' in globals()")
        assert (after.value, session.ended is None) == (False, False)
        assert after.note is not None
        assert [result.status.value for result in results] == ["worker_lost"]
        assert "all names of the session are lost" in str(results[0].error)


BUSY = """
import asyncio, json, re
class Thing:
    def __init__(self): self.n = 0
    def __eq__(self, other): return self.n == other.n
    def __hash__(self): return self.n % 7
async def work(n):
    thing = Thing()
    setattr(thing, "n", n)
    print("begin", n, "x" * (n % 50) * 100)
    try:
        found = await caps.slow.echo(n=n)
        assert found == n, (found, n)
        counts[n % 13] = counts.get(n % 13, 0) + len({thing, Thing()})
        json.loads(json.dumps([n] * 100))
        re.sub("a*", "b", "aaa" * n)
    finally:
        ends.append(n)
counts, ends = {}, []
while True:
    await asyncio.gather(*(work(n) for n in range(20)))
"""


async def test_a_session_stays_sound_whenever_it_is_interrupted(scene: Scene) -> None:
    """Code that calls, prints, and runs guards is interrupted at random moments, many times.

    The channel would not survive a frame that was cut: each run ends with the interrupt, and the
    names and the answers of the next are its own.
    """
    moments = random.Random(7)
    async with scene.session() as session:
        for number in range(40):
            results: list[ExecutionResult] = []

            async def run(into: list[ExecutionResult] = results) -> None:
                into.append(await session.run(BUSY))

            async with anyio.create_task_group() as group:
                group.start_soon(run)
                await anyio.sleep(moments.uniform(0, 0.05))
                while not results:
                    await session.interrupt()
            (result,) = results
            assert result.error is not None
            assert result.error.code == "interrupted", (number, result.error)
            check = await session.run(f"kept += 1\n(kept, await caps.slow.echo(n={number}))")
            assert check.value == (42 + number, number), check.error
    assert set(scene.outcomes().values()) == {1}
    ended = [e.status.value for e in scene.audit.events if isinstance(e, ExecutionEnded)]
    assert set(ended) == {"ok", "code_failed"}
