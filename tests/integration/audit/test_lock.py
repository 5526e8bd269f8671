"""Another process holds the audit log: no effect without evidence, and no caller waits for ever."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest

from caps import CapabilityRegistry, Runtime
from caps.security.audit import (
    AuditLog,
    CallStatus,
    DecisionMade,
    ExecutionEnded,
    LimitReached,
    OutcomeRecorded,
    VerifyStatus,
    read_records,
    verify_log,
)
from caps.worker.host.zygote.source import ForkedWorker, ZygoteSource
from support.audit_examples import segment_of

pytestmark = pytest.mark.anyio

HOLDER = """
import fcntl, sys
with open(sys.argv[1], "rb") as log:
    fcntl.flock(log, fcntl.LOCK_EX)
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def held_by_another(directory: Path) -> Iterator[None]:
    """A separate process has the lock."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(segment_of(directory))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        yield
        holder.communicate()


async def test_calls_fail_for_want_of_evidence_and_have_no_effect(tmp_path: Path) -> None:
    """The code may catch it and continue; the end of the execution says what is missing."""
    registry, acted = CapabilityRegistry(), []
    log = AuditLog.open(tmp_path, lock_seconds=0.1)

    @registry.capability("host.act")
    async def act() -> None:
        acted.append(1)

    source = """
found = []
for _ in range(3):
    try:
        await caps.host.act()
    except AuditError as error:
        found.append(str(error))
print(found)
"""
    policy = {"allow": ["host.act"]}
    async with log, Runtime(policy, registry=registry, audit=log) as runtime:
        with segment_of(tmp_path).open("rb") as other:
            result = await runtime.run(
                f"print('lock')\n{source}print('unlock')",
                on_output=lambda text: fcntl.flock(
                    other, fcntl.LOCK_UN if "unlock" in text else fcntl.LOCK_EX
                ),
            )
    assert acted == []
    assert result.stdout.count("the evidence of this call could not be written") == 3
    assert result.status.value == "host_failed"
    assert result.error is not None
    assert result.error.message.endswith("cannot be written: another process holds the log")
    events = [record.event for record in read_records(tmp_path)]
    assert not [event for event in events if isinstance(event, DecisionMade | OutcomeRecorded)]
    assert [e.status.value for e in events if isinstance(e, ExecutionEnded)] == ["host_failed"]
    assert verify_log(tmp_path).status is VerifyStatus.OK


class Watched(ZygoteSource):
    """Workers whose ends can be waited for."""

    def __init__(self) -> None:
        super().__init__()
        self.workers: list[ForkedWorker] = []

    async def start(self) -> ForkedWorker:
        self.workers.append(await super().start())
        return self.workers[-1]

    async def until_one_has_ended(self) -> None:
        async with anyio.create_task_group() as tasks:

            async def wait(worker: ForkedWorker) -> None:
                await worker.ended()
                tasks.cancel_scope.cancel()

            for worker in self.workers:
                tasks.start_soon(wait, worker)


@pytest.mark.parametrize("end", ["wall", "cancel"])
async def test_the_code_is_ended_without_waiting_for_the_lock(tmp_path: Path, end: str) -> None:
    """At its wall limit, or cancelled: its process is reaped while the log is still held."""
    registry, called, source = CapabilityRegistry(), anyio.Event(), Watched()
    log = AuditLog.open(tmp_path, lock_seconds=40)

    @registry.capability("host.take")
    async def take() -> None:
        called.set()
        await anyio.sleep_forever()

    limits = {"wall_ms": 1000 if end == "wall" else 60_000}
    policy = {"allow": ["host.take"], "limits": limits}
    code = "import asyncio\nasyncio.create_task(caps.host.take())\nawait asyncio.sleep(600)"
    with anyio.fail_after(60):
        async with (
            log,
            Runtime(policy, registry=registry, audit=log, workers=source) as runtime,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(runtime.run, code)
            await called.wait()
            with held_by_another(tmp_path):
                if end == "cancel":
                    tasks.cancel_scope.cancel()
                with anyio.fail_after(20, shield=True):
                    await source.until_one_has_ended()
    events = [record.event for record in read_records(tmp_path)]
    ends = [event.status.value for event in events if isinstance(event, ExecutionEnded)]
    assert ends == (["limit"] if end == "wall" else ["cancelled"])
    limits_reached = [event.limit for event in events if isinstance(event, LimitReached)]
    assert limits_reached == (["wall_ms"] if end == "wall" else [])
    outcomes = [event.status for event in events if isinstance(event, OutcomeRecorded)]
    assert outcomes == [CallStatus.CANCELLED]


def test_a_command_says_who_keeps_it_waiting(tmp_path: Path) -> None:
    """`caps run` ends with one line and the exit code of a failed host."""
    AuditLog.open(tmp_path)
    caps = Path(sys.executable).with_name("caps")
    with held_by_another(tmp_path):
        done = subprocess.run(
            [caps, "run", "-", "--audit", str(tmp_path)],
            input="print('ran')",
            env={**os.environ, "CAPS_POLICY_PATH": ""},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
    held = f"caps: audit log `{segment_of(tmp_path)}` cannot be written: another process holds"
    assert (done.returncode, done.stdout) == (6, "")
    assert done.stderr == f"{held} the log\n"
