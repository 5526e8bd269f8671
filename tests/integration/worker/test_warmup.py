"""A spare that waits takes harmless code through its whole path; nothing of it may be left."""

from __future__ import annotations

import subprocess
import sys

import anyio
import pytest

from caps import MemoryAuditLog, Runtime, builtin_registry
from caps.worker.host.zygote.launch import launch, prelaunched_zygote
from caps.worker.host.zygote.source import ZygoteSource
from support.processes import descendants, open_pidfds

pytestmark = pytest.mark.anyio

PATIENCE_SECONDS = 60
# Runs the warm-up of a worker, and then searches for objects and output that it left.
WARMED_UP = """
import gc, os, sys
from caps.worker.inside.stdlib.importer import load_facades
from caps.worker.inside.runner.warmup import WarmUp, record_host_script
load_facades()
ours, theirs = os.pipe()
os.dup2(theirs, 0)
script = record_host_script()
WarmUp(script, {}, restricted=True).perform()
left = [
    one for one in gc.get_objects()
    if getattr(one, "__name__", "") in ("greet", "ask")
    or type(one).__name__ == "Task"
]
os.set_blocking(ours, False)
try:
    said = os.read(ours, 100)
except BlockingIOError:
    said = b""
os.write(2, repr([left, said, type(sys.stdout).__name__]).encode())
"""


def test_a_warm_up_leaves_nothing_and_says_nothing() -> None:
    """Its functions and tasks are collected, and no byte reaches a channel."""
    told = subprocess.run(
        (sys.executable, "-I", "-c", WARMED_UP), capture_output=True, text=True, check=True
    )
    assert told.stderr == "[[], b'', 'CurrentStream']"


async def test_code_in_a_worker_finds_only_its_own_names() -> None:
    """Whether that worker had the time for its warm-up or not."""
    source = "sorted(name for name in globals() if not name.startswith('__'))"
    with anyio.fail_after(PATIENCE_SECONDS):
        async with Runtime({}, audit=MemoryAuditLog()) as runtime:
            for _ in range(3):
                assert (await runtime.run(source)).value == ["caps"]


async def test_code_in_a_worker_that_had_its_manifest_early_is_granted_the_same() -> None:
    """Its calls are recorded as those of its execution, and other code does not get that worker."""
    audit = MemoryAuditLog()
    policy = {"id": "adder", "allow": ["math.add"]}
    with anyio.fail_after(PATIENCE_SECONDS):
        async with Runtime(policy, registry=builtin_registry(), audit=audit) as runtime:
            stock = runtime._open().pool._stock
            while not (early := [spare for spare in stock if spare.manifest is not None]):
                assert (await runtime.run("(await caps.math.add(a=1, b=2)).result")).value == 3
            nothing = {"id": "nothing", "allow": []}
            other = await runtime.run("hasattr(caps, 'math')", policy=nothing)
            assert (other.value, early[0].worker.is_over) == (False, False)
            result = await runtime.run("(await caps.math.add(a=2, b=2)).result")
            assert (result.value, early[0] in stock) == (4, False)
    records = [
        each for each in audit.events if getattr(each, "execution_id", "") == result.execution_id
    ]
    assert [type(each).__name__ for each in records] == [
        "ExecutionStarted",
        "DecisionMade",
        "OutcomeRecorded",
        "ExecutionEnded",
    ]


def test_a_zygote_that_was_launched_ahead_is_gone_if_nobody_took_it() -> None:
    """A command that fails before it opens a runtime leaves no process."""
    with prelaunched_zygote() as launched:
        assert launched is not None
        process = launched.process
    assert process.poll() is not None


async def test_a_zygote_that_was_launched_ahead_is_the_one_that_forks() -> None:
    """And the next one is started when it has exited."""
    launched = launch()
    with anyio.fail_after(PATIENCE_SECONDS):
        source = ZygoteSource(launched=launched)
        async with Runtime({}, audit=MemoryAuditLog(), workers=source) as runtime:
            assert (await runtime.run("6 * 7")).value == 42
            assert source._zygote is not None
            assert source._zygote.pid == launched.process.pid
            with open_pidfds(*descendants(launched.process.pid)) as family:
                launched.process.kill()
                for process in family:  # a worker that dies later may be running code by then
                    await anyio.wait_readable(process)
            assert (await runtime.run("6 * 7")).value == 42
        launched.dismiss()


def test_launching_imports_little() -> None:
    """A command starts it before everything else."""
    code = "import sys, caps.worker.host.zygote.launch; print('anyio' in sys.modules)"
    assert subprocess.check_output((sys.executable, "-c", code), text=True) == "False\n"
