"""A real worker shares the processor of its host while it calls often, and only then."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from caps import AuditLog, CapabilityRegistry, Durability, Runtime
from caps.protocol.environment import Variable
from caps.worker.host.process.scheduling import Scheduling
from caps.worker.host.process.shared_processor import SharedProcessor, Sharing
from caps.worker.host.supervisor import supervisor
from caps.worker.host.zygote.forked_worker import ForkedWorker

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(
        os.geteuid() != 0 or len(os.sched_getaffinity(0)) < 2,
        reason="it needs a second processor, and CAP_SYS_NICE to restore a policy",
    ),
]

POLICY = {"id": "caller", "allow": ["probe.*"], "limits": {"calls": 1_000_000, "wall_ms": 60_000}}
ALLOWED = os.sched_getaffinity(0)
APART = (os.SCHED_OTHER, ALLOWED)
UNTIL_NEAR = "while not await caps.probe.is_near():\n    pass\n"


class IdleMachine(Scheduling):
    """This machine, as if nothing else ran: the tests run beside each other."""

    def is_busy(self, ours: int) -> bool:
        return False


class Watched:
    """A runtime, and what happened to the workers of its executions."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sharing = Sharing(IdleMachine())
        self.pid = 0
        self.was_near = anyio.Event()
        self.was_apart = anyio.Event()
        near, apart = ForkedWorker.near, ForkedWorker.apart

        def watched_near(worker: ForkedWorker, processor: int) -> bool:
            done = near(worker, processor)
            if done:
                self.pid = worker._placement._pid
                self.was_near.set()
            return done

        def watched_apart(worker: ForkedWorker) -> None:
            apart(worker)
            if worker._placement._pid == self.pid:
                self.was_apart.set()

        monkeypatch.setattr(ForkedWorker, "near", watched_near)
        monkeypatch.setattr(ForkedWorker, "apart", watched_apart)
        monkeypatch.setattr(
            supervisor, "SharedProcessor", lambda worker: SharedProcessor(worker, self.sharing)
        )

    @property
    def placed(self) -> tuple[int, set[int]]:
        """What the kernel says of the last worker that was near."""
        return os.sched_getscheduler(self.pid), os.sched_getaffinity(self.pid)

    @asynccontextmanager
    async def runtime(self) -> AsyncIterator[Runtime]:
        registry = CapabilityRegistry()

        @registry.capability("probe.is_near")
        async def is_near() -> bool:
            """Whether the worker is near now: one processor, and the policy SCHED_IDLE."""
            if not self.was_near.is_set():
                return False
            policy, processors = self.placed
            return policy == os.SCHED_IDLE and len(processors) == 1

        with tempfile.TemporaryDirectory() as directory:
            # Only calls that are answered without waiting for the log count.
            log = AuditLog.open(Path(directory), durability=Durability.OS, checkpoint_every=10**6)
            async with log as audit, Runtime(POLICY, registry=registry, audit=audit) as runtime:
                yield runtime


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Watched:
    monkeypatch.delenv(Variable.SHARE_PROCESSOR.key, raising=False)
    return Watched(monkeypatch)


async def test_it_is_near_while_it_calls_and_apart_after_its_cell(watched: Watched) -> None:
    """The worker of a session lives on, and is as it was."""
    async with watched.runtime() as runtime, runtime.session() as session:
        (await session.run(UNTIL_NEAR)).unwrap()
        assert watched.placed == APART
        assert os.sched_getaffinity(0) == ALLOWED
        assert os.sched_getscheduler(0) == os.SCHED_OTHER


@pytest.mark.parametrize(
    "then",
    [
        pytest.param("while True: pass", id="computes"),
        pytest.param("import asyncio\nawait asyncio.sleep(600)", id="sleeps"),
    ],
)
async def test_it_is_put_back_when_it_no_longer_calls(watched: Watched, then: str) -> None:
    """While its code still runs."""
    async with watched.runtime() as runtime, anyio.create_task_group() as tasks:
        tasks.start_soon(runtime.run, UNTIL_NEAR + then)
        await watched.was_near.wait()
        await watched.was_apart.wait()
        assert watched.placed == APART
        assert len(watched.sharing.served) == 1
        tasks.cancel_scope.cancel()


async def test_it_is_put_back_when_another_execution_is_served(watched: Watched) -> None:
    """The second one calls, too, and neither is near."""
    async with watched.runtime() as runtime, anyio.create_task_group() as tasks:
        tasks.start_soon(runtime.run, "while True: await caps.probe.is_near()")
        await watched.was_near.wait()
        tasks.start_soon(runtime.run, "while True: await caps.probe.is_near()")
        await watched.was_apart.wait()
        assert watched.placed == APART
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize("then", ["1 / 0", "await caps.probe.nothing()"])
async def test_it_is_apart_however_its_cell_ends(watched: Watched, then: str) -> None:
    """An error of the code is an end as any other."""
    async with watched.runtime() as runtime, runtime.session() as session:
        result = await session.run(UNTIL_NEAR + then)
        assert not result.ok
        assert watched.placed == APART


async def test_it_is_apart_after_an_interrupt(watched: Watched) -> None:
    """A session keeps its worker then."""
    async with watched.runtime() as runtime, runtime.session() as session:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.run, "while True: await caps.probe.is_near()")
            await watched.was_near.wait()
            await session.interrupt()
        assert watched.placed == APART
        (await session.run("1")).unwrap()


async def test_without_the_right_to_put_it_back_nothing_is_changed(watched: Watched) -> None:
    """It is served all the same."""
    watched.sharing.scheduling.is_usable = False
    async with watched.runtime() as runtime:
        code = "for _ in range(200): await caps.probe.is_near()\n'served'"
        assert (await runtime.run(code)).unwrap() == "served"
    assert not watched.was_near.is_set()


def test_the_doctor_says_whether_a_processor_can_be_shared() -> None:
    """And why not, in its object and below its table."""
    caps = Path(sys.executable).with_name("caps")
    told = json.loads(subprocess.check_output((caps, "doctor", "--json")))
    assert told["shared_processor"] == {"possible": True, "reason": ""}
    environment = {**os.environ, Variable.SHARE_PROCESSOR.key: "off"}
    table = subprocess.check_output((caps, "doctor"), env=environment, text=True)
    assert "no worker shares the processor of its host: CAPS_SHARE_PROCESSOR is `off`" in table
    environment[Variable.SHARE_PROCESSOR.key] = "maybe"
    refused = subprocess.run((caps, "doctor"), env=environment, capture_output=True, text=True)
    assert "CAPS_SHARE_PROCESSOR is `maybe`; set `on` or `off`" in refused.stderr
    assert refused.returncode == 2
