"""The end of a runtime: closed, closed again and again, interrupted. Nothing of it is left."""

from __future__ import annotations

import fcntl
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest

from caps import CapabilityRegistry, ConfigurationError, Runtime, builtin_registry
from caps.capabilities.runtime.result import ExecutionResult
from caps.security.audit import ExecutionEnded, VerifyStatus, read_records, verify_log
from support.observed_runtime import observed_runtime
from support.processes import descendants, has_ended, open_pidfds

ENDLESS = "await caps.host.meet()\nwhile True: pass"


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_closing_ends_what_runs_and_records_it(tmp_path: Path) -> None:
    """Running or waiting for a place, each gets a result, and the log has the end of each."""
    results: list[ExecutionResult] = []
    met = anyio.Event()
    registry = CapabilityRegistry()

    @registry.capability("host.meet")
    async def meet() -> None:
        met.set()

    runtime = Runtime({"allow": ["host.*"]}, registry=registry, audit=tmp_path, max_workers=1)

    async def run() -> None:
        results.append(await runtime.run(ENDLESS))

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks, runtime:
            for _ in range(3):
                tasks.start_soon(run)
            await met.wait()
    assert [result.status.value for result in results] == ["worker_lost"] * 3
    assert sorted(result.started for result in results) == [False, False, True]
    assert all("the runtime was closed" in str(result.error) for result in results)
    ended = {
        record.event.execution_id: record.event.status.value
        for record in read_records(tmp_path)
        if isinstance(record.event, ExecutionEnded)
    }
    assert ended == {result.execution_id: "worker_lost" for result in results}
    assert verify_log(tmp_path).status is VerifyStatus.OK
    with pytest.raises(ConfigurationError, match="not open"):
        await runtime.run("1")


@pytest.mark.anyio
async def test_a_closed_runtime_has_no_process_left() -> None:
    """Zygote, spares and a busy worker have exited when closing returns, without a zombie."""
    before = descendants(os.getpid())  # what other tests share, such as a service
    async with anyio.create_task_group() as tasks, observed_runtime() as host:
        tasks.start_soon(host.runtime.run, ENDLESS)
        await host.until_met()
        family = {
            pid: state for pid, state in descendants(os.getpid()).items() if pid not in before
        }
        assert family
        with open_pidfds(*family) as processes:
            await host.runtime.__aexit__(None, None, None)
            assert all(has_ended(process) for process in processes)
        assert not family.keys() & descendants(os.getpid()).keys()


# Orphans become children of this process, as they do of the first process of a container.
AGAIN_AND_AGAIN = """
import os
import anyio
from caps import Runtime
from caps.worker.inside.confinement import linux
from support.processes import descendants

PR_SET_CHILD_SUBREAPER = 36
linux._checked(linux._libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "prctl")

def held() -> tuple[int, int]:
    return len(os.listdir("/proc/self/fd")), len(descendants(os.getpid()))

async def main() -> None:
    runtime = Runtime({}, audit="audit")
    async with runtime:
        await runtime.run("1")
    before = held()
    for number in range(12):
        async with runtime:
            if number % 4 == 0:
                assert (await runtime.run("6 * 7")).value == 42
    print(before == held(), before[1])

anyio.run(main)
"""


def test_opening_and_closing_again_and_again_leaves_nothing(tmp_path: Path) -> None:
    """As many descriptors and processes as after the first time, and no zombie to reap."""
    done = subprocess.run(
        [sys.executable, "-c", AGAIN_AND_AGAIN],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.stdout == "True 0\n", done.stderr


@pytest.mark.anyio
async def test_several_runtimes_share_a_process_and_not_their_fate() -> None:
    """Each has its own zygote; closing or killing one does not affect the other."""
    async with observed_runtime() as first:
        async with observed_runtime() as second:
            assert first.zygote != second.zygote
            assert await first.works()
            os.kill(second.zygote, signal.SIGKILL)
            assert await first.works()
            assert await second.works()
        zygote = first.zygote
        assert await first.works()
        assert first.zygote == zygote


@contextmanager
def caps_run(directory: Path, source: str) -> Iterator[subprocess.Popen[str]]:
    """`caps run` of code that has begun; the log is in `audit`."""
    (directory / "policy.json").write_text('{"version": 1, "id": "p", "allow": ["time.now"]}')
    (directory / "code.py").write_text(f"print('begun')\n{source}")
    command = (Path(sys.executable).with_name("caps"), "run", "code.py")
    options = ("--policy", "policy.json", "--audit", "audit")
    with subprocess.Popen(
        (*command, *options),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=directory,
        start_new_session=True,
    ) as caps:
        assert caps.stdout is not None
        assert caps.stdout.readline() == "begun\n"
        yield caps


@pytest.mark.parametrize(
    "busy", ["await caps.time.now()\nwhile True: pass", "import asyncio\nawait asyncio.sleep(600)"]
)
@pytest.mark.parametrize(
    ("number", "code", "message"),
    [
        (signal.SIGINT, 130, "caps: interrupted\n"),
        (signal.SIGTERM, 143, "caps: terminated\n"),
    ],
)
def test_a_signal_kills_the_code_and_says_so_in_one_line(
    tmp_path: Path, busy: str, number: signal.Signals, code: int, message: str
) -> None:
    """Ctrl-C goes to the whole group: its exit code, no traceback, no process, a sound log."""
    with caps_run(tmp_path, busy) as caps:
        family = descendants(caps.pid)
        with open_pidfds(*family) as processes:
            os.killpg(caps.pid, number)
            printed, told = caps.communicate(timeout=60)
            assert (caps.returncode, printed, told) == (code, "", message)
            assert [has_ended(process) for process in processes] == [True] * len(family)
    (ended,) = [
        record.event
        for record in read_records(tmp_path / "audit")
        if isinstance(record.event, ExecutionEnded)
    ]
    assert ended.status.value == "cancelled"
    assert verify_log(tmp_path / "audit").status is VerifyStatus.OK


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_ends_the_command_immediately(
    tmp_path: Path, number: signal.Signals
) -> None:
    """The first waits for the log, which somebody else holds; the second does not."""
    with caps_run(tmp_path, "while True: pass") as caps:
        family = descendants(caps.pid)
        with (
            open_pidfds(*family) as processes,
            (tmp_path / "audit" / "audit-000001.jsonl").open("rb") as log,
        ):
            fcntl.flock(log, fcntl.LOCK_EX)
            caps.send_signal(number)
            # The code is killed before its end is recorded: so the first signal has arrived.
            until_one_has_ended(processes)
            caps.send_signal(number)
            caps.communicate(timeout=60)
            assert caps.returncode == -number
            assert all(has_ended(process, within_seconds=60) for process in processes)
    assert verify_log(tmp_path / "audit").status is VerifyStatus.OK


def until_one_has_ended(processes: list[int]) -> None:
    poll = select.poll()
    for process in processes:
        poll.register(process, select.POLLIN)
    assert poll.poll(60_000)


def test_an_interrupt_of_run_sync_leaves_the_runtime_usable(tmp_path: Path) -> None:
    """The execution is cancelled; a program that catches the interrupt can continue."""
    with Runtime({"allow": ["time.now"]}, registry=builtin_registry(), audit=tmp_path) as runtime:
        with pytest.raises(KeyboardInterrupt):
            runtime.run_sync(
                "print('x' * 10_000)\nwhile True: pass",
                on_output=lambda _text: os.kill(os.getpid(), signal.SIGINT),
            )
        assert runtime.run_sync("6 * 7").value == 42
