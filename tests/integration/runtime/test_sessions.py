"""Sessions on real workers: what is kept, what limits them, what ends them, what is recorded."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import anyio
import msgspec
import pytest

from caps import (
    CapabilityRegistry,
    ConfigurationError,
    MemoryAuditLog,
    Output,
    PolicyInvalidError,
    Runtime,
    Session,
    SessionBusyError,
    SessionEnd,
    SessionEndedError,
    builtin_registry,
)
from caps.protocol.connection import HostConnection
from caps.protocol.messages import (
    CapabilityRequestMessage,
    CapabilityResponseMessage,
    ManifestEntry,
    ManifestMessage,
    ResultMessage,
    StartMessage,
    WorkerLimits,
)
from caps.protocol.values import decode_value
from caps.security.audit import (
    DecisionMade,
    ExecutionEnded,
    ExecutionStarted,
    LimitReached,
    OutcomeRecorded,
    VerifyStatus,
    read_records,
    verify_log,
)
from caps.worker.host.pool.spare import wait_until_ready
from caps.worker.host.process.worker import Worker
from caps.worker.host.zygote.source import ForkedWorker, ZygoteSource

pytestmark = pytest.mark.anyio

FOREVER = "import asyncio\nawait asyncio.sleep(600)"


class Scene:
    """A registry whose providers tests watch, and the log of what happened."""

    def __init__(self) -> None:
        self.audit = MemoryAuditLog()
        self.registry = CapabilityRegistry()
        self.counted = 0
        self.asked = anyio.Event()
        self.registry.capability("count.up")(self.up)
        self.registry.capability("count.wait")(self.wait)
        self.registry.capability("count.ready")(self.ready)

    async def up(self) -> int:
        self.counted += 1
        return self.counted

    async def ready(self) -> None:
        """Answers when a `wait` has begun."""
        await self.asked.wait()

    async def wait(self) -> int:
        """Never answers by itself."""
        self.counted += 1
        self.asked.set()
        await anyio.sleep_forever()
        return 0

    @asynccontextmanager
    async def session(
        self, limits: dict[str, Any] | None = None, **terms: Any
    ) -> AsyncIterator[Session]:
        policy = {"id": "counter", "allow": ["count.*"], "limits": limits or {}}
        async with (
            Runtime(policy, registry=self.registry, audit=self.audit) as runtime,
            runtime.session(**terms) as session,
        ):
            yield session

    def events(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.audit.events if isinstance(event, kind)]


@pytest.fixture
def scene() -> Scene:
    return Scene()


def worker_of(session: Session) -> Worker:
    assert session._lease._spare is not None
    return session._lease._spare.worker


def state_of(session: Session) -> str:
    """The state of its worker's process, as /proc has it."""
    worker = worker_of(session)
    assert isinstance(worker, ForkedWorker)
    info = Path(f"/proc/self/fdinfo/{worker._pidfd}").read_text()
    pid = next(line.split()[1] for line in info.splitlines() if line.startswith("Pid:"))
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


async def value_of(session: Session, source: str) -> Any:
    return (await session.run(source)).unwrap()


class TestWhatLivesOn:
    @pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
    async def test_names_live_on(self, scene: Scene) -> None:
        """What one run assigns, the next one finds."""
        async with scene.session() as session:
            await session.run("x = 1")
            assert await value_of(session, "x + 1") == 2

    async def test_functions_imports_and_classes_live_on(self, scene: Scene) -> None:
        """A class of an earlier cell can be extended, and its private attributes are its own."""
        async with scene.session() as session:
            await session.run("import math\ndef area(r):\n    return math.floor(math.pi * r * r)")
            await session.run(
                "class Shape:\n    def __init__(self, r):\n        self._r = r\n"
                "    def area(self):\n        return area(self._r)"
            )
            await session.run(
                "class Round(Shape):\n    def twice(self):\n        return 2 * self._r"
            )
            assert await value_of(session, "s = Round(2)\n[s.area(), s.twice()]") == [12, 4]

    async def test_capabilities_and_coroutines_are_there_in_every_run(self, scene: Scene) -> None:
        """`caps` is the same namespace, and an `async def` of one cell is awaited in another."""
        async with scene.session() as session:
            await session.run("async def up():\n    return await caps.count.up()")
            assert [await value_of(session, "await up()") for _ in range(3)] == [1, 2, 3]

    async def test_a_result_does_not_live_on(self, scene: Scene) -> None:
        """A run without a last expression has no value, whatever the one before it had."""
        async with scene.session() as session:
            assert await value_of(session, "41") == 41
            assert await value_of(session, "x = 1") is None

    async def test_a_run_that_returns_keeps_the_names_before(self, scene: Scene) -> None:
        """What follows the `return` did not run, and a later run goes on as ever."""
        async with scene.session() as session:
            source = "import math\nx = await caps.count.up()\nif x:\n    return x\ny = 1"
            assert await value_of(session, source) == 1
            assert await value_of(session, "x, math.floor(1.5), 'y' in globals()") == (1, 1, False)
            assert await value_of(session, "return x + 1") == 2
            assert await value_of(session, "z = 1") is None

    @pytest.mark.parametrize(
        "wrong",
        [
            "1 / 0",
            "def (",
            "x.__globals__",
            "raise SystemExit(3)",
            "raise KeyboardInterrupt",
            "def f(): return f()\nf()",
            "await 1",
            "[0] * 10**9",
        ],
    )
    async def test_an_error_leaves_the_session_alive(self, scene: Scene, wrong: str) -> None:
        """What the code raised, or was refused before it ran, is a result like any other."""
        async with scene.session() as session:
            await session.run("x = 1")
            assert not (await session.run(wrong)).ok
            assert await value_of(session, "x") == 1

    async def test_two_sessions_share_nothing(self, scene: Scene) -> None:
        """Not a name, and not a worker."""
        async with (
            Runtime({}, audit=scene.audit) as runtime,
            runtime.session() as first,
            runtime.session() as second,
        ):
            assert worker_of(first) is not worker_of(second)
            await first.run("x = 1")
            result = await second.run("x")
        assert result.error is not None
        assert result.error.type == "NameError"

    async def test_an_execution_beside_a_session_finds_nothing_of_it(self, scene: Scene) -> None:
        """`run` of the runtime uses its own worker, as always."""
        async with Runtime({}, audit=scene.audit) as runtime, runtime.session() as session:
            await session.run("x = 1")
            assert not (await runtime.run("x")).ok


class TestErrors:
    async def test_a_traceback_crosses_cells(self, scene: Scene) -> None:
        """A function of cell 1 that fails in cell 3 shows its own line, in text and as data."""
        async with scene.session() as session:
            await session.run("def half(n):\n    return 1 / n")
            await session.run("x = 0")
            result = await session.run("# here\nhalf(x)")
        error = result.error
        assert error is not None
        assert error.traceback == (
            "Traceback (most recent call last):\n"
            '  File "<cell 3>", line 2, in <module>\n'
            "    half(x)\n"
            '  File "<cell 1>", line 2, in half\n'
            "    return 1 / n\n"
            "           ^^^^^\n"
            "ZeroDivisionError: division by zero\n"
        )
        assert (error.filename, error.line, error.column) == ("<cell 1>", 2, 11)
        assert [(f.filename, f.line, f.function, f.source) for f in error.frames] == [
            ("<cell 3>", 2, "<module>", "half(x)"),
            ("<cell 1>", 2, "half", "return 1 / n"),
        ]
        assert result.as_dict()["error"]["frames"][1]["filename"] == "<cell 1>"

    async def test_a_cell_that_does_not_compile_is_named(self, scene: Scene) -> None:
        """Its number counts, as that of any other cell."""
        async with scene.session() as session:
            await session.run("x = 1")
            result = await session.run("x = ")
        assert result.error is not None
        assert not result.started
        assert result.error.filename == "<cell 2>"
        assert result.error.traceback.startswith('  File "<cell 2>", line 1\n')


class TestLeftOver:
    async def test_a_task_ends_with_its_cell(self, scene: Scene) -> None:
        """It is cancelled and cleans up, and what it prints then belongs to its own cell."""
        source = """
import asyncio
async def stay():
    try:
        await asyncio.sleep(600)
    finally:
        print("cleaned up")
task = asyncio.create_task(stay())
await asyncio.sleep(0)
"""
        async with scene.session() as session:
            assert (await session.run(source)).stdout == "cleaned up\n"
            result = await session.run("task.cancelled()")
        assert (result.value, result.stdout) == (True, "")

    async def test_a_task_that_will_not_end_is_given_up(self, scene: Scene) -> None:
        """It does not continue in the next cell, and code that awaits it gets an error."""
        source = """
import asyncio
ticks = []
async def stay():
    while True:
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            ticks.append(1)
task = asyncio.create_task(stay())
await asyncio.sleep(0)
"""
        async with scene.session() as session:
            assert (await session.run(source)).ok
            assert await value_of(session, "await asyncio.sleep(0)\nlen(ticks)") == 1
            result = await session.run("await task")
        assert result.error is not None
        assert result.error.type == "CancelledError"

    async def test_a_call_in_flight_is_its_own_cells(self, scene: Scene) -> None:
        """It is cancelled and recorded there; the next cell's accounts start at nothing."""
        source = """
import asyncio
task = asyncio.create_task(caps.count.wait())
await caps.count.ready()
"""
        async with scene.session({"concurrency": 2, "calls": 5}) as session:
            first = await session.run(source)
            second = await session.run("await asyncio.gather(caps.count.up(), caps.count.up())")
        assert first.ok
        assert (second.usage.calls, len(second.decisions)) == (2, 2)
        outcomes = [(o.execution_id, o.status.value) for o in scene.events(OutcomeRecorded)]
        assert (first.execution_id, "cancelled") in outcomes
        assert outcomes[-2:] == [(second.execution_id, "ok")] * 2

    async def test_the_places_of_calls_left_over_are_free_again(self, scene: Scene) -> None:
        """A cell that leaves as many calls as may be in flight takes none from the next."""
        source = """
import asyncio
tasks = [asyncio.create_task(caps.count.wait()) for _ in range(2)]
await asyncio.sleep(0.01)
"""
        async with scene.session({"concurrency": 2}) as session:
            for _ in range(3):
                assert (await session.run(source)).ok
            assert isinstance(await value_of(session, "await caps.count.up()"), int)


class TestLimits:
    async def test_calls_and_output_are_counted_by_the_run(self, scene: Scene) -> None:
        """Each run has what the policy grants to one execution."""
        async with scene.session({"calls": 2, "output_bytes": 10}) as session:
            for _ in range(3):
                result = await session.run(
                    "print('123456')\n[await caps.count.up() for _ in range(2)]"
                )
                assert (result.ok, result.usage.calls, result.usage.output_bytes) == (True, 2, 7)

    async def test_a_call_over_the_limit_is_an_error_that_leaves_the_session_alive(
        self, scene: Scene
    ) -> None:
        """The code could have caught it."""
        async with scene.session({"calls": 1}) as session:
            result = await session.run("[await caps.count.up() for _ in range(2)]")
            assert result.status.value == "limit"
            assert await value_of(session, "await caps.count.up()") == 2

    async def test_cpu_time_is_counted_by_the_run(self, scene: Scene) -> None:
        """Three cells of nearly half a second each are within half a second each."""
        busy = "import time\nend = time.monotonic() + 0.4\nwhile time.monotonic() < end: pass"
        async with scene.session({"cpu_ms": 500}) as session:
            for _ in range(3):
                assert (await session.run(busy)).ok

    @pytest.mark.parametrize(
        ("limits", "source", "limit"),
        [
            ({"wall_ms": 500}, FOREVER, "wall_ms"),
            ({"cpu_ms": 300}, "\nwhile True: pass", "cpu_ms"),
        ],
    )
    async def test_code_that_stops_at_a_limit_keeps_its_names(
        self, scene: Scene, limits: dict[str, Any], source: str, limit: str
    ) -> None:
        """The run's result names the limit and the line, and the session goes on."""
        async with scene.session(limits) as session:
            worker = worker_of(session)
            assert (await session.run("x = 1")).ok
            result = await session.run(source)
            assert result.error is not None
            assert (result.status.value, result.error.details["limit"]) == ("limit", limit)
            assert (result.error.type, result.error.line) == ("LimitExceededError", 2)
            assert result.error.traceback.endswith(f"LimitExceededError: {result.error.message}\n")
            after = await session.run("x")
            assert (after.value, after.note) == (1, None)
            assert worker_of(session) is worker
        assert [e.limit for e in scene.events(LimitReached)] == [limit]
        assert [e.status.value for e in scene.events(ExecutionEnded)] == ["ok", "limit", "ok"]

    async def test_code_that_does_not_stop_is_killed_and_the_next_run_says_what_is_lost(
        self, scene: Scene
    ) -> None:
        """The next run has a new worker; the one after it has nothing more to say."""
        async with scene.session({"wall_ms": 400}) as session:
            worker = worker_of(session)
            assert (await session.run("x = 1")).ok
            result = await session.run("import itertools\nsum(itertools.repeat(0))")
            assert result.error is not None
            assert (result.status.value, result.error.details["limit"]) == ("limit", "wall_ms")
            assert "was killed, and all names of the session are lost" in result.error.message
            assert (worker.is_over, session.ended) == (True, None)
            after = await session.run("'x' in globals()")
            assert (after.value, session.ended) == (False, None)
            note = "the names of all earlier runs are lost: the code ran longer than 400 ms"
            assert after.note is not None
            assert after.note.startswith(note)
            assert after.note in after.for_model()
            assert (await session.run("1")).note is None
        assert [e.limit for e in scene.events(LimitReached)] == ["wall_ms"]

    async def test_a_killed_session_gives_its_place_back(self, scene: Scene) -> None:
        """Between a kill and the next run it holds no worker."""
        policy = {"limits": {"wall_ms": 300}}
        async with (
            Runtime(policy, audit=scene.audit, max_workers=1) as runtime,
            runtime.session() as session,
        ):
            await session.run("import itertools\nsum(itertools.repeat(0))")
            assert (await runtime.run("2")).value == 2
            assert await value_of(session, "3") == 3

    async def test_output_over_its_limit_is_cut_and_the_session_goes_on(self, scene: Scene) -> None:
        """The run ends as it would, its output says that it was cut, and its names stay."""
        source = "x = 7\nfor n in range(100): print('ä' * 50)\nx"
        async with scene.session({"output_bytes": 101}) as session:
            result = await session.run(source)
            assert result.unwrap() == 7
            note = "… the output was cut at 101 bytes (`limits.output_bytes`)"
            assert result.stdout == f"{'ä' * 50}\n\n{note}\n"
            assert (await session.run("print('short')\nx")).stdout == "short\n"
            events = [event async for event in session.stream(source)]
        printed = "".join(event.text for event in events if isinstance(event, Output))
        assert printed == result.stdout

    async def test_memory_is_that_of_the_whole_session(self, scene: Scene) -> None:
        """What earlier cells hold counts, and letting go of it helps."""
        async with scene.session({"memory_mb": 128}) as session:
            assert (await session.run("a = bytearray(40 * 2**20)")).ok
            over = await session.run("b = bytearray(60 * 2**20)")
            assert over.status.value == "limit"
            assert (await session.run("del a")).ok
            assert (await session.run("b = bytearray(60 * 2**20)")).ok

    async def test_runs_are_bounded(self, scene: Scene) -> None:
        """The run after the last is refused, and the worker has exited."""
        async with scene.session(max_runs=2) as session:
            worker = worker_of(session)
            await session.run("1")
            await session.run("2")
            with pytest.raises(SessionEndedError, match="has had its 2 runs"):
                await session.run("3")
            assert (session.ended, worker.is_over) == (SessionEnd.RUNS, True)

    async def test_a_session_that_nobody_uses_ends(self, scene: Scene) -> None:
        """Its worker is killed when the session is idle for too long."""
        async with scene.session(idle_ms=500) as session:
            await session.run("x = 1")
            await worker_of(session).ended()
            assert session.ended is SessionEnd.IDLE
            with pytest.raises(SessionEndedError, match="nothing ran in it for 500 ms"):
                await session.run("x")

    async def test_a_run_is_not_idleness(self, scene: Scene) -> None:
        """A run may be longer than the session may be idle."""
        async with scene.session(idle_ms=500) as session:
            result = await session.run("import asyncio\nawait asyncio.sleep(0.7)\n1")
            assert (result.value, session.ended) == (1, None)

    async def test_an_old_session_ends_between_runs(self, scene: Scene) -> None:
        """However recently it was used."""
        async with scene.session(wall_ms=800) as session:
            await session.run("x = 1")
            await worker_of(session).ended()
            assert session.ended is SessionEnd.WALL

    async def test_an_old_session_ends_within_a_run(self, scene: Scene) -> None:
        """The result names the session's own limit and not the policy's."""
        async with scene.session(wall_ms=800) as session:
            result = await session.run(FOREVER)
        assert result.error is not None
        assert (result.error.details["limit"], result.error.details["allowed"]) == (
            "session_wall_ms",
            800,
        )
        assert session.ended is SessionEnd.WALL
        assert [e.limit for e in scene.events(LimitReached)] == ["session_wall_ms"]

    @pytest.mark.parametrize("terms", [{"max_runs": 0}, {"idle_ms": 0}, {"wall_ms": 10**10}])
    async def test_a_limit_out_of_range_is_refused(
        self, scene: Scene, terms: dict[str, Any]
    ) -> None:
        """A session is always bounded."""
        with pytest.raises(ConfigurationError, match=next(iter(terms))):
            async with scene.session(**terms):
                raise AssertionError("it was opened")


class TestBetweenRuns:
    async def test_the_worker_is_stopped(self, scene: Scene) -> None:
        """No run's limits hold it then, so it does nothing at all."""
        async with scene.session() as session:
            await session.run("x = 1")
            state = state_of(session)
            while state in "RS":  # the signal is on its way
                state = state_of(session)
            assert state == "T"
            assert await value_of(session, "x") == 1


class TestEnds:
    async def test_leaving_the_context_kills_the_worker(self, scene: Scene) -> None:
        """Nothing of it is left, and the session says so."""
        async with scene.session() as session:
            worker = worker_of(session)
            assert (worker.is_over, session.ended) == (False, None)
        assert (worker.is_over, session.ended) == (True, SessionEnd.CLOSED)
        with pytest.raises(SessionEndedError, match="it was closed"):
            await session.run("1")

    async def test_an_error_of_the_callers_own_comes_out_as_it_is(self, scene: Scene) -> None:
        """Neither wrapped in a group nor lost."""
        with pytest.raises(ZeroDivisionError):
            async with scene.session():
                raise ZeroDivisionError

    async def test_a_cancelled_run_ends_the_session(self, scene: Scene) -> None:
        """The worker is killed, the run is recorded as cancelled."""
        async with scene.session() as session:
            worker = worker_of(session)
            async with anyio.create_task_group() as group:
                group.start_soon(session.run, "await caps.count.wait()")
                await scene.asked.wait()
                group.cancel_scope.cancel()
            assert (session.ended, worker.is_over) == (SessionEnd.CANCELLED, True)
            with pytest.raises(SessionEndedError, match="a run was cancelled"):
                await session.run("1")
        assert [e.status.value for e in scene.events(ExecutionEnded)] == ["cancelled"]

    async def test_a_second_run_at_the_same_time_is_refused(self, scene: Scene) -> None:
        """And disturbs neither the first nor the session."""
        async with scene.session() as session, anyio.create_task_group() as group:
            group.start_soon(session.run, "await caps.count.wait()")
            await scene.asked.wait()
            with pytest.raises(SessionBusyError, match="runs another cell"):
                await session.run("1")
            assert session.ended is None
            group.cancel_scope.cancel()
        assert len(scene.events(ExecutionStarted)) == 1

    async def test_a_worker_that_died_ends_the_session(self, scene: Scene) -> None:
        """A later run says that its code never ran."""
        async with scene.session() as session:
            await session.run("x = 1")
            worker_of(session).kill()
            result = await session.run("x")
            assert (result.status.value, result.started) == ("worker_lost", False)
            assert session.ended is SessionEnd.WORKER_LOST

    async def test_a_spare_that_died_before_the_first_run_is_replaced(self, scene: Scene) -> None:
        """Nothing ran in it, so nothing is lost."""
        async with scene.session() as session:
            worker_of(session).kill()
            await worker_of(session).ended()
            assert await value_of(session, "1") == 1

    async def test_closing_the_runtime_ends_its_sessions(self, scene: Scene) -> None:
        """One that is open, and one whose code runs: its result is lost, and recorded."""
        results = []

        async def keep_busy(session: Session) -> None:
            results.append(await session.run("await caps.count.wait()"))

        runtime = Runtime({"allow": ["count.*"]}, registry=scene.registry, audit=scene.audit)
        async with anyio.create_task_group() as group, runtime:
            idle, busy = runtime.session(), runtime.session()
            await idle.__aenter__()
            await busy.__aenter__()
            group.start_soon(keep_busy, busy)
            await scene.asked.wait()
        assert (idle.ended, busy.ended) == (SessionEnd.CLOSED, SessionEnd.CLOSED)
        assert [result.status.value for result in results] == ["worker_lost"]
        assert "the runtime was closed" in str(results[0].error)
        assert [e.status.value for e in scene.events(ExecutionEnded)] == ["worker_lost"]
        with pytest.raises(SessionEndedError, match="the runtime was closed"):
            await idle.run("1")

    async def test_its_place_is_free_again(self, scene: Scene) -> None:
        """A session holds one of the runtime's workers and gives it back, however it ends."""
        async with Runtime({}, audit=scene.audit, max_workers=1) as runtime:
            for source in ("1", "def (", "1 / 0"):
                async with runtime.session() as session:
                    await session.run(source)
            with anyio.fail_after(20):
                assert (await runtime.run("2")).value == 2

    async def test_a_session_is_opened_once(self, scene: Scene) -> None:
        """What is over is not opened again."""
        async with scene.session() as session:
            with pytest.raises(ConfigurationError, match="opened once"):
                await session.__aenter__()

    async def test_a_session_that_is_not_open_says_how_to_open_it(self, scene: Scene) -> None:
        """As the runtime does."""
        async with Runtime({}, audit=scene.audit) as runtime:
            with pytest.raises(ConfigurationError, match="not open"):
                await runtime.session().run("1")


class TestEvidence:
    async def test_every_run_is_an_execution_of_the_session(self, tmp_path: Path) -> None:
        """Own ids, one session, one policy, and a log that verifies."""
        policy = {"id": "adder", "allow": ["math.add"]}
        log = tmp_path / "log"
        async with (
            Runtime(policy, registry=builtin_registry(), audit=log) as runtime,
            runtime.session(principal="ada", agent="bot") as session,
        ):
            results = [await session.run("await caps.math.add(a=1, b=2)") for _ in range(2)]
            results.append(await session.run("1 / 0"))
        assert verify_log(log).status is VerifyStatus.OK
        events = [record.event for record in read_records(log)]
        started = [e for e in events if isinstance(e, ExecutionStarted)]
        ended = [e for e in events if isinstance(e, ExecutionEnded)]
        decided = [e for e in events if isinstance(e, DecisionMade)]
        ids = [result.execution_id for result in results]
        assert len(set(ids)) == 3
        assert [e.execution_id for e in started] == [e.execution_id for e in ended] == ids
        assert [e.execution_id for e in decided] == ids[:2]
        assert {(e.principal, e.agent, e.session) for e in (*started, *ended, *decided)} == {
            ("ada", "bot", session.id)
        }
        assert [e.status.value for e in ended] == ["ok", "ok", "code_failed"]
        assert {e.policy_id for e in started} == {"adder"}

    async def test_the_caller_may_name_the_session(self, scene: Scene) -> None:
        """Its own name is what the records carry."""
        async with scene.session(session="notebook-7") as session:
            await session.run("1")
        assert session.id == "notebook-7"
        assert [e.session for e in scene.events(ExecutionStarted)] == ["notebook-7"]

    async def test_the_policy_is_that_of_the_opening(self, scene: Scene) -> None:
        """Another than the runtime's own, fixed for all runs; a bad one opens nothing."""
        other = {"id": "other", "allow": ["count.up"]}
        async with Runtime({}, registry=scene.registry, audit=scene.audit) as runtime:
            async with runtime.session(policy=other, replace=True) as session:
                assert await value_of(session, "await caps.count.up()") == 1
            with pytest.raises(PolicyInvalidError):
                async with runtime.session(policy={"allow": ["nonsense"]}):
                    raise AssertionError("it was opened")
        assert {e.policy_id for e in scene.events(ExecutionStarted)} == {"other"}

    async def test_a_run_without_evidence_does_not_happen(self, scene: Scene) -> None:
        """The worker does not get the code; the session continues once evidence can be written."""
        async with scene.session() as session:
            await session.run("x = 1")
            good, session._opened = session._opened, _without_audit(session)
            result = await session.run("x = 2")
            session._opened = good
            assert (result.status.value, result.started) == ("host_failed", False)
            assert await value_of(session, "x") == 1


class TestIdempotency:
    async def test_a_key_has_one_effect_in_the_session(self, scene: Scene) -> None:
        """A retry in a later cell gets the recorded answer."""
        source = "await caps.count.up.options(idempotency_key='k')()"
        async with scene.session() as session:
            assert [await value_of(session, source) for _ in range(3)] == [1, 1, 1]
        assert scene.counted == 1

    async def test_a_key_whose_call_was_cut_short_acts_no_more(self, scene: Scene) -> None:
        """Whether the first had its effect is not known, and the retry says so."""
        call = "caps.count.wait.options(idempotency_key='k')()"
        begin = f"import asyncio\nt = asyncio.create_task({call})\nawait caps.count.ready()"
        async with scene.session() as session:
            await session.run(begin)
            result = await session.run(f"await {call}")
        assert scene.counted == 1
        assert result.error is not None
        assert (result.error.type, "cut short" in result.error.message) == ("ProviderError", True)

    async def test_the_keys_of_a_session_are_bounded(self, scene: Scene) -> None:
        """As many as one run may make calls; a call without a key is still made."""
        source = "await caps.count.up.options(idempotency_key=name)()"
        async with scene.session({"calls": 2}) as session:
            for name in ("a", "b"):
                assert (await session.run(f"name = '{name}'\n{source}")).ok
            refused = await session.run(f"name = 'c'\n{source}")
            assert refused.status.value == "limit"
            assert await value_of(session, f"name = 'a'\n{source}") == 1
            assert await value_of(session, "await caps.count.up()") == 3


def test_the_sync_way_in() -> None:
    """The same session without an event loop."""
    printed: list[str] = []
    with Runtime({}, audit=MemoryAuditLog()) as runtime:
        with runtime.session_sync(principal="ada", max_runs=3) as session:
            session.run("x = 1")
            result = session.run("print(x)\nx + 1", on_output=printed.append)
            ends = [session.ended]
        ends.append(session.ended)
        with pytest.raises(SessionEndedError):
            session.run("x")
    assert (result.value, printed) == (2, ["1\n"])
    assert ends == [None, SessionEnd.CLOSED]


def test_the_sync_way_in_needs_an_open_runtime() -> None:
    """And says so."""
    with (
        pytest.raises(ConfigurationError, match="session_sync needs"),
        Runtime({}).session_sync(),
    ):
        raise AssertionError("it was opened")


def _without_audit(session: Session) -> Any:
    """What the session has opened, with a log that takes nothing."""
    opened = session._opened
    full = MemoryAuditLog(capacity=0)
    return msgspec.structs.replace(opened, services=replace(opened.services, audit=full))


async def test_a_late_answer_between_cells_is_dropped_by_the_worker() -> None:
    """It crossed the result on its way; the next cell neither sees it nor stumbles over it."""
    source = ZygoteSource()
    connection = HostConnection()
    limits = WorkerLimits(cpu_ms=10_000, memory_mb=256, concurrency=1)
    ask = "import asyncio\nt = asyncio.create_task(caps.a.b())\nawait asyncio.sleep(0.01)"
    async with source.open():
        worker = await source.start()
        await wait_until_ready(worker.transport, connection)

        async def say(kind: type[Any], **fields: Any) -> None:
            await worker.transport.send(connection.send(kind(**fields, **connection.stamp())))

        async def hear_result() -> ResultMessage:
            while True:
                for message in connection.receive(await worker.transport.receive()):
                    if isinstance(message, CapabilityRequestMessage):
                        asked.append(message.request_id)
                    if isinstance(message, ResultMessage):
                        return message

        asked: list[str] = []
        entry = ManifestEntry.of(name="a.b", schema_in={})
        await say(
            ManifestMessage,
            execution_id="s",
            namespace="caps",
            policy_id="p",
            capabilities=[entry],
            session=True,
        )
        await say(StartMessage, source=ask, filename="<cell 1>", limits=limits)
        assert (await hear_result()).error is None
        await say(CapabilityResponseMessage, request_id=asked[0], result=1)
        await say(StartMessage, source="t.cancelled()", filename="<cell 2>", limits=limits)
        assert decode_value((await hear_result()).value) is True
        worker.kill()
        await worker.ended()
        worker.transport.close()


class TestWhatACellLeavesBehind:
    """Requests that no cell waits for take nothing from later cells."""

    POLICY: ClassVar[dict[str, Any]] = {
        "allow": ["slow.*"],
        "limits": {"wall_ms": 8000, "concurrency": 4},
    }

    @staticmethod
    def _registry() -> CapabilityRegistry:
        registry = CapabilityRegistry()

        @registry.capability("slow.wait")
        async def wait(data: str) -> None:
            await anyio.sleep_forever()

        @registry.capability("slow.echo")
        async def echo(size: int) -> str:
            return "x" * size

        return registry

    async def test_their_bytes_are_given_back(self) -> None:
        """Each leaves six megabytes unanswered; the budget is some thirty."""
        left = "import asyncio\nt = asyncio.create_task(caps.slow.wait(data='x' * 6_000_000))\n"
        async with (
            Runtime(self.POLICY, registry=self._registry(), audit=MemoryAuditLog()) as runtime,
            runtime.session() as session,
        ):
            for _ in range(8):
                assert (await session.run(left + "await asyncio.sleep(0.01)\n1")).value == 1

    async def test_their_slots_are_given_back(self) -> None:
        """Tasks that will not be cancelled hold every slot, and more wait in line."""
        left = """
import asyncio
async def stubborn():
    while True:
        try:
            await caps.slow.wait(data="")
        except BaseException:
            pass
tasks = [asyncio.create_task(stubborn()) for _ in range(12)]
await asyncio.sleep(0)
1
"""
        async with (
            Runtime(self.POLICY, registry=self._registry(), audit=MemoryAuditLog()) as runtime,
            runtime.session() as session,
        ):
            assert (await session.run(left)).value == 1
            assert (await session.run("len(await caps.slow.echo(size=3))")).value == 3

    async def test_kept_answers_take_a_bounded_part_of_memory(self) -> None:
        """Beyond it the first call has its answer, and a repeat learns that it was not kept."""
        call = "len(await caps.slow.echo.options(idempotency_key='k{}')(size=1_500_000))"
        async with (
            Runtime(self.POLICY, registry=self._registry(), audit=MemoryAuditLog()) as runtime,
            runtime.session() as session,
        ):
            for number in range(3):
                assert (await session.run(call.format(number))).value == 1_500_000
            assert (await session.run(call.format(1))).value == 1_500_000
            again = await session.run(call.format(2))
            assert again.error is not None
            assert "too large to keep" in again.error.message
