"""Faults of the host itself: killed, out of descriptors, on a full disk, on a weak kernel.

Each host is a separate process, so that faults are real and harm no other test.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from caps.security.audit import VerifyStatus, verify_log
from support.processes import descendants, has_ended, open_pidfds

# What follows runs in a separate user namespace, as an ordinary user who may set its limits.
OWN_NAMESPACE = """
import os
from pathlib import Path
from caps.worker.inside.confinement import linux
maps = {"uid_map": f"1000 {os.getuid()} 1", "gid_map": f"1000 {os.getgid()} 1"}
linux.unshare(linux.CLONE_NEWUSER | linux.CLONE_NEWNS)
for name, text in {"setgroups": "deny", **maps}.items():
    Path(f"/proc/self/{name}").write_text(text)
"""

# The kernel refuses further user namespaces to everybody in this one.
NO_MORE_NAMESPACES = f"""{OWN_NAMESPACE}
Path("/proc/sys/user/max_user_namespaces").write_text("0")
linux.drop_capabilities()
"""

ENDLESS = """
import os, signal, sys
import anyio
from caps import CapabilityRegistry, MemoryAuditLog, Runtime

registry = CapabilityRegistry()

@registry.capability("host.meet")
async def meet() -> None:
    child = 0
    if "fork" in sys.argv:
        child = os.fork()
        if child == 0:
            os.read(0, 1)
            os._exit(0)
    print(child, flush=True)

async def main() -> None:
    policy = {"allow": ["host.meet"], "limits": {"wall_ms": 600_000, "cpu_ms": 600_000}}
    async with Runtime(policy, registry=registry, audit=MemoryAuditLog()) as runtime:
        await runtime.run("await caps.host.meet()\\nwhile True: pass")

anyio.run(main)
"""


@contextmanager
def started(program: str, *arguments: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """A host that runs `program`, and is killed afterwards."""
    process = subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd="/",
        env={**os.environ, **environment},
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def said(program: str, *arguments: str, **environment: str) -> Any:
    """What a host that runs to its end prints, as JSON."""
    with started(program, *arguments, **environment) as process:
        printed, _ = process.communicate(timeout=60)
    assert process.returncode == 0, printed
    return json.loads(printed)


class TestAHostKilledWithSigkill:
    @pytest.mark.parametrize(
        ("prelude", "environment"),
        [
            pytest.param("", {}, id="fully isolated"),
            pytest.param(NO_MORE_NAMESPACES, {"CAPS_ISOLATION": "best-effort"}, id="degraded"),
        ],
    )
    def test_leaves_no_process_behind(self, prelude: str, environment: dict[str, str]) -> None:
        """Zygote, spares and the worker in its endless loop have all exited."""
        with started(prelude + ENDLESS, **environment) as host:
            assert host.stdout is not None
            assert host.stdout.readline() == "0\n"
            family = descendants(host.pid)
            assert len(family) >= 2
            with open_pidfds(*family) as processes:
                host.kill()
                assert [has_ended(process, within_seconds=20) for process in processes] == [
                    True
                ] * len(family)

    def test_is_noticed_although_a_child_of_its_own_keeps_its_sockets(self) -> None:
        """A host may fork without exec; that its channels stay open keeps no worker alive."""
        with started(ENDLESS, "fork") as host:
            assert host.stdout is not None
            child = int(host.stdout.readline())
            family = descendants(host.pid).keys() - {child}
            with open_pidfds(child, *family) as (heir, *processes):
                host.kill()
                assert all(has_ended(process, within_seconds=20) for process in processes)
                assert not has_ended(heir)
                signal.pidfd_send_signal(heir, signal.SIGKILL)

    @pytest.mark.parametrize(
        ("prelude", "environment"),
        [
            pytest.param("", {}, id="fully isolated"),
            pytest.param(NO_MORE_NAMESPACES, {"CAPS_ISOLATION": "best-effort"}, id="degraded"),
        ],
    )
    def test_leaves_no_process_behind_although_all_of_them_are_stopped(
        self, prelude: str, environment: dict[str, str]
    ) -> None:
        """A stopped zygote cannot notice the end of its host; the kernel does."""
        with started(prelude + ENDLESS, **environment) as host:
            assert host.stdout is not None
            assert host.stdout.readline() == "0\n"
            family = descendants(host.pid)
            with open_pidfds(*family) as processes:
                for process in processes:
                    signal.pidfd_send_signal(process, signal.SIGSTOP)
                host.kill()
                try:
                    assert all(has_ended(process, within_seconds=20) for process in processes)
                finally:  # or they would stay
                    for process in processes:
                        with suppress(ProcessLookupError):
                            signal.pidfd_send_signal(process, signal.SIGKILL)


ONE_EXECUTION = """
import json
from caps import MemoryAuditLog, Runtime

with Runtime({}, audit=MemoryAuditLog()) as runtime:
    first = runtime.run_sync("1 + 1")
    tight = {"limits": {"cpu_ms": 100, "memory_mb": 8192}}
    runaway = runtime.run_sync("while True: pass", policy=tight)
print(json.dumps([first.value, runaway.error.details["limit"]]))
"""


@pytest.mark.parametrize(
    "prelude",
    [
        pytest.param(
            "import resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0))", id="no core files"
        ),
        pytest.param(
            "import resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 32, 1 << 32))\n"
            "resource.setrlimit(resource.RLIMIT_CPU, (9, 9))",
            id="limits on memory and cpu",
        ),
        pytest.param(
            "import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN)", id="SIGCHLD ignored"
        ),
        pytest.param(
            "import signal; signal.signal(signal.SIGXCPU, signal.SIG_IGN)", id="SIGXCPU ignored"
        ),
        pytest.param(
            "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())",
            id="signals blocked",
        ),
    ],
)
def test_a_host_with_unusual_limits_or_signals_runs_code(prelude: str) -> None:
    """Containers and services often start programs like this."""
    assert said(prelude + ONE_EXECUTION) == [2, "cpu_ms"]


FORKING = """
import os, signal, sys
from caps import CapsError, MemoryAuditLog, Runtime

def in_child(do) -> None:
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # ends a child that hangs
        try:
            do()
        except CapsError as error:
            print(error.message.partition(";")[0], flush=True)
        sys.exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)

def leave() -> None:
    runtime.__exit__(None, None, None)

def open_another() -> None:
    with Runtime({}, audit=MemoryAuditLog()) as own:
        print(own.run_sync("40 + 2").value, flush=True)

with Runtime({}, audit=MemoryAuditLog()) as runtime:
    with runtime.session_sync() as session:
        in_child(lambda: runtime.run_sync("1"))
        in_child(lambda: runtime.submit("1"))
        in_child(lambda: runtime.call_sync("time.now"))
        in_child(lambda: runtime.submit_call("time.now"))
        in_child(lambda: runtime.session_sync().__enter__())
        in_child(lambda: runtime.policy)
        in_child(lambda: session.run("1"))
        in_child(session.close)
        in_child(leave)
        in_child(lambda: None)
        in_child(open_another)
        print(session.run("'the session of the parent lives'").value)
    print(runtime.run_sync("'so does its runtime'").value)
"""


def test_a_child_that_the_host_forked_gets_an_error_and_harms_nothing() -> None:
    """The child has no thread that could serve it: it must not wait, not even when it exits."""
    with started(FORKING) as host:
        printed, _ = host.communicate(timeout=60)
    refused = ["the runtime was opened before this process was forked", "0"]
    assert printed.splitlines() == [
        *(refused * 9),
        *["0"],
        *["42", "0"],
        "the session of the parent lives",
        "so does its runtime",
    ]


FORKING_IN_A_LOOP = """
import asyncio, os, signal, sys
from contextlib import aclosing
from caps import CapsError, MemoryAuditLog, Runtime

def in_child(do) -> None:
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # ends a child that hangs
        asyncio._set_running_loop(None)
        try:
            asyncio.run(do())
        except CapsError as error:
            print(error.message.partition(";")[0], flush=True)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)

async def read(stream) -> None:
    async with aclosing(stream) as events:
        async for _ in events:
            pass

async def open_session(runtime) -> None:
    async with runtime.session():
        pass

async def main() -> None:
    async with Runtime({}, audit=MemoryAuditLog()) as runtime, runtime.session() as session:
        await session.run("x = 'the session of the parent lives'")
        in_child(lambda: runtime.run("1"))
        in_child(lambda: runtime.call("time.now"))
        in_child(lambda: read(runtime.stream("1")))
        in_child(lambda: open_session(runtime))
        in_child(lambda: runtime.revoke("e", "time.now"))
        in_child(lambda: session.run("x = 1"))
        in_child(lambda: read(session.stream("x = 1")))
        in_child(session.close)
        in_child(lambda: session.__aexit__(None, None, None))
        print((await session.run("x")).value)

asyncio.run(main())
"""


def test_a_child_forked_in_an_event_loop_gets_an_error_and_harms_nothing() -> None:
    """Runs, calls, streams and sessions: the worker of the parent gets nothing from it."""
    with started(FORKING_IN_A_LOOP) as host:
        printed, _ = host.communicate(timeout=60)
    refused = ["the runtime was opened before this process was forked", "0"]
    assert printed.splitlines() == [*(refused * 9), "the session of the parent lives"]


OUT_OF_DESCRIPTORS = """
import contextlib, json, os, resource, sys
import anyio
from caps import Runtime

def exhaust() -> list[int]:
    taken = []
    with contextlib.suppress(OSError):
        while True:
            taken.append(os.dup(0))
    return taken

def told(result) -> list:
    return [result.status.value, result.started, result.error and result.error.message]

async def main() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))
    async with Runtime({}, audit=sys.argv[1]) as runtime:
        results = [await runtime.run("1")]
        before = len(os.listdir("/proc/self/fd"))
        if "zygote" in sys.argv:
            runtime._settings.workers._zygote.end()
        taken = exhaust()
        while results[-1].ok:
            results.append(await runtime.run("1"))
            taken += exhaust()
        for descriptor in taken:
            os.close(descriptor)
        results.append(await runtime.run("1"))
    left = len(os.listdir("/proc/self/fd"))
    print(json.dumps([*map(told, results[-2:]), left <= before]))

anyio.run(main)
"""


class TestAHostWithoutDescriptors:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            pytest.param((), "no worker could be forked: Too many open files", id="for a fork"),
            pytest.param(
                ("zygote",), "the zygote cannot be started: Too many open files", id="for a zygote"
            ),
        ],
    )
    def test_says_so_and_recovers(
        self, tmp_path: Path, arguments: tuple[str, ...], message: str
    ) -> None:
        """The result says that nothing ran; with descriptors at hand the same runtime works."""
        failed, recovered, all_given_back = said(
            OUT_OF_DESCRIPTORS, str(tmp_path / "audit"), *arguments
        )
        assert failed == ["worker_lost", False, message]
        assert recovered == ["ok", True, None]
        assert all_given_back
        assert verify_log(tmp_path / "audit").status is VerifyStatus.OK


FULL_DISK = f"""{OWN_NAMESPACE}
import contextlib, json, shutil, sys
from caps import AuditError, CapabilityRegistry, Runtime
from caps.security.audit import DecisionMade, read_records

disk = Path(sys.argv[1])
linux._checked(linux._libc.mount(b"none", bytes(disk), b"tmpfs", 0, b"size=128k"), "mount")
ballast = disk / "ballast"

def fill() -> None:
    with contextlib.suppress(OSError), ballast.open("ab", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)

effects = []
registry = CapabilityRegistry()

@registry.capability("host.act")
async def act() -> None:
    effects.append(1)

told = {{"refused": [], "unfounded": 0}}
with Runtime({{"allow": ["host.act"]}}, registry=registry, audit=disk / "audit") as runtime:
    fill()
    for _ in range(20):
        before = len(effects)
        result = runtime.run_sync("await caps.host.act()")
        records = read_records(disk / "audit", execution_id=result.execution_id)
        decided = sum(isinstance(record.event, DecisionMade) for record in records)
        told["unfounded"] += max(0, len(effects) - before - decided)
        if not result.started:
            told["refused"].append([result.status.value, result.error.code, len(effects) - before])
    ballast.unlink()
    told["recovered"] = runtime.run_sync("await caps.host.act()").status.value
fill()
try:
    with Runtime({{}}, audit=disk / "new"):
        told["opened"] = True
except AuditError as error:
    told["opened"] = error.message
ballast.unlink()
shutil.copytree(disk / "audit", sys.argv[2])
print(json.dumps(told))
"""


def test_on_a_full_disk_nothing_runs_without_evidence(tmp_path: Path) -> None:
    """No code and no effect without its record; nothing is opened; with room it works again."""
    disk, kept = tmp_path / "disk", tmp_path / "kept"
    disk.mkdir()
    told = said(FULL_DISK, str(disk), str(kept))
    assert told["unfounded"] == 0
    assert told["refused"]
    assert set(map(tuple, told["refused"])) == {("host_failed", "audit_error", 0)}
    assert told["recovered"] == "ok"
    assert "No space left on device" in told["opened"]
    assert verify_log(kept).status is VerifyStatus.OK


WEAK_KERNEL = f"""{NO_MORE_NAMESPACES}
import json
import msgspec
from caps import IsolationError, MemoryAuditLog, Runtime
audit = MemoryAuditLog()
try:
    with Runtime({{"limits": {{"wall_ms": 200}}}}, audit=audit) as runtime:
        assert runtime.run_sync("1").value == 1
        runtime.run_sync("while True: pass")
    refused = None
except IsolationError as error:
    refused = [error.missing, error.message]
print(json.dumps([refused, msgspec.to_builtins(audit.events)]))
"""


class TestAKernelWithoutNamespaces:
    def test_is_refused_and_the_missing_layers_are_named(self) -> None:
        """Less than full isolation needs the operator's consent."""
        refused, events = said(WEAK_KERNEL)
        missing, message = refused
        assert missing[:2] == ["namespaces", "root"]
        assert "namespaces not, root not" in message
        assert "CAPS_ISOLATION=best-effort" in message
        assert [event["kind"] for event in events] == ["policy_loaded"]

    def test_with_that_word_it_runs_and_every_record_says_so(self) -> None:
        """Start, limit and end of each execution name the layers that did not hold."""
        refused, events = said(WEAK_KERNEL, CAPS_ISOLATION="best-effort")
        assert refused is None
        records = [event for event in events if "execution_id" in event]
        kinds = ["execution_started", "execution_ended"]
        assert [record["kind"] for record in records] == [
            *kinds,
            kinds[0],
            "limit_reached",
            kinds[1],
        ]
        (degraded,) = {record.get("degraded") for record in records}
        assert degraded.startswith("namespaces not, root not")
        isolation = records[0]["isolation"]
        assert (isolation["namespaces"], isolation["root"]) == ("not", "not")
        assert isolation["seccomp"] == "fully"
