"""Workers in their own memory groups, on the kernel's cgroups: limits, kills, nothing left."""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from caps import CapabilityRegistry, ConfigurationError, MemoryAuditLog, Runtime
from caps.protocol.enforcement import Layer
from caps.security.audit import LimitReached
from caps.worker.host.memory import limiter
from caps.worker.host.memory.cgroup import CgroupRoot, MemoryGroup, write
from caps.worker.host.memory.cgroup_discovery import CgroupInterface, CgroupLocation, find_locations
from caps.worker.host.memory.limiter import CgroupMembership, MemoryLimiter
from caps.worker.host.memory.prepared_group import PreparedGroup
from caps.worker.host.zygote.launch import prelaunched_zygote
from caps.worker.host.zygote.source import ForkedWorker, ZygoteSource
from support.observed_runtime import observed_runtime
from support.processes import children, descendants, has_ended, open_pidfds, pid_of

pytestmark = pytest.mark.anyio

PATIENCE_SECONDS = 60
MEGABYTE = 1024 * 1024
# Touches every page: what is only mapped is not used.
TAKE_100_MEGABYTES = "x = b'x' * (100 << 20)\nlen(x)"


def usable_place() -> CgroupLocation | None:
    """Where this machine lets us make groups."""
    for place in find_locations():
        try:
            home = CgroupRoot(place)
        except OSError:
            continue
        home.remove()
        home.release()
        return place
    return None


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[CgroupLocation]:
    """A group for one test alone, which must be empty at its end."""
    found = usable_place()
    if found is None:
        give_up = pytest.fail if os.environ.get("CAPS_FORBID_SKIPS") else pytest.skip
        give_up("no cgroup with a memory controller is to be had here")
    directory = found.directory / f"test-{os.getpid()}"
    directory.mkdir()
    monkeypatch.setenv("CAPS_CGROUP", str(directory))
    yield CgroupLocation(directory, found.interface)
    directory.rmdir()


def memory_layer(layers: tuple[Layer, ...]) -> Layer:
    (layer,) = [layer for layer in layers if layer.name == "memory"]
    return layer


def homes(place: CgroupLocation) -> list[Path]:
    return sorted(place.directory.glob("caps-*"))


def group_of(pid: int, interface: CgroupInterface) -> str:
    """The cgroup of a process, as a path below the root of the hierarchy."""
    wanted = "" if interface.needs_delegation else "memory"
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if wanted in controllers.split(","):
            return path
    raise AssertionError(f"process {pid} is in no group")


class Pinned(CgroupMembership):
    """A group with its own limit, below RLIMIT_AS or above it, whatever the policy says."""

    def __init__(self, membership: CgroupMembership, megabytes: int) -> None:
        super().__init__(membership._memory, membership._group, membership._prepared)
        self._pinned = megabytes

    def limit(self, megabytes: int) -> None:
        """The one that was pinned."""
        super().limit(self._pinned)


class TightSource(ZygoteSource):
    """Workers whose group kills before RLIMIT_AS refuses."""

    async def start(self) -> ForkedWorker:
        worker = await super().start()
        assert worker._membership is not None
        worker._membership = Pinned(worker._membership, 48)
        return worker


@asynccontextmanager
async def meeting(
    limits: dict[str, Any], interface: CgroupInterface
) -> AsyncIterator[tuple[Runtime, list[dict[str, str]]]]:
    """A runtime whose code can have the host read all groups while it runs."""
    registry = CapabilityRegistry()
    seen: list[dict[str, str]] = []
    runtime = Runtime(
        {"allow": ["host.look"], "limits": limits}, registry=registry, audit=MemoryAuditLog()
    )

    @registry.capability("host.look")
    async def look() -> None:
        directory = Path(os.environ["CAPS_CGROUP"])
        found = {}
        for group in directory.glob("caps-*/worker-*"):
            with suppress(OSError):  # that of a worker before us goes meanwhile
                limit = (group / interface.limits[0]).read_text().strip()
                for pid in (group / "cgroup.procs").read_text().split():
                    found[pid] = limit
        seen.append(found)

    with anyio.fail_after(PATIENCE_SECONDS):
        async with runtime:
            yield runtime, seen


class TestAWorker:
    async def test_is_in_a_group_of_its_own_before_it_is_used(self, place: CgroupLocation) -> None:
        """Each spare in another one, and none of them in the host's."""
        async with observed_runtime() as host:
            await host.spare()
            while len(host.stock()) < 2:
                await anyio.lowlevel.checkpoint()
            groups = [group_of(pid, place.interface) for pid in host.stock()]
            (home,) = homes(place)
            assert len(set(groups)) == len(groups)
            assert {Path(group).parent.name for group in groups} == {home.name}
            assert group_of(host.zygote, place.interface).endswith(f"/{home.name}/zygote")

    async def test_comes_from_a_zygote_in_a_group_even_if_that_was_ready_before(
        self, place: CgroupLocation
    ) -> None:
        """The process that forks is a child of the one that the host knows."""
        with prelaunched_zygote() as launched, anyio.fail_after(PATIENCE_SECONDS):
            assert launched is not None
            await anyio.wait_readable(launched.control)
            source = ZygoteSource(launched=launched)
            async with Runtime({}, audit=MemoryAuditLog(), workers=source):
                (home,) = homes(place)
                for pid in (launched.process.pid, *children(launched.process.pid)):
                    assert group_of(pid, place.interface).endswith(f"/{home.name}/zygote")

    async def test_has_the_limit_of_its_policy_when_its_code_runs(
        self, place: CgroupLocation
    ) -> None:
        """Also one that is larger, or smaller, than the limit before."""
        async with meeting({"memory_mb": 128}, place.interface) as (runtime, seen):
            for megabytes in (128, 128, 512, 64, 65):
                policy = {"allow": ["host.look"], "limits": {"memory_mb": megabytes}}
                result = await runtime.run("await caps.host.look()", policy=policy, replace=True)
                assert result.ok, result.error
                assert str(megabytes * MEGABYTE) in seen[-1].values()

    async def test_that_uses_more_is_killed_and_the_result_names_the_limit(
        self, place: CgroupLocation
    ) -> None:
        """A limit of the policy, not a lost worker; and the audit has a record of it."""
        audit = MemoryAuditLog()
        async with Runtime(
            {"limits": {"memory_mb": 1024}}, audit=audit, workers=TightSource()
        ) as runtime:
            result = await runtime.run(TAKE_100_MEGABYTES)
            fine = await runtime.run("len(b'x' * (20 << 20))")
        assert result.error is not None
        assert (result.status.value, result.error.code) == ("limit", "limit_exceeded")
        assert result.error.details["limit"] == "memory_mb"
        assert "raise `limits.memory_mb`" in result.error.message
        assert result.started
        assert [event.limit for event in audit.events if isinstance(event, LimitReached)] == [
            "memory_mb"
        ]
        assert fine.value == 20 * MEGABYTE

    async def test_meets_its_rlimit_first_and_gets_a_memory_error(
        self, place: CgroupLocation
    ) -> None:
        """With both at the same number, code can catch the error and continue."""
        source = """
try:
    x = b'x' * (100 << 20)
except MemoryError:
    x = 'caught'
x
"""
        async with Runtime({"limits": {"memory_mb": 96}}, audit=MemoryAuditLog()) as runtime:
            assert (await runtime.run(source)).value == "caught"

    async def test_that_is_killed_for_the_hosts_sake_is_lost(self, place: CgroupLocation) -> None:
        """A limit above its own: not the code's fault, and the message says so."""
        limit = place.interface.limits[0]
        write(place.directory / limit, str(128 * MEGABYTE))
        async with Runtime({"limits": {"memory_mb": 1024}}, audit=MemoryAuditLog()) as runtime:
            result = await runtime.run("x = b'x' * (400 << 20)\nlen(x)")
        assert result.error is not None
        assert (result.status.value, result.started) == ("worker_lost", True)
        assert "the host ran out of memory" in result.error.message

    async def test_that_the_host_kills_is_not_out_of_memory(self, place: CgroupLocation) -> None:
        """The wall clock's kill stays the wall clock's."""
        policy = {"limits": {"wall_ms": 200}}
        async with Runtime(policy, audit=MemoryAuditLog()) as runtime:
            result = await runtime.run("while True: pass")
        assert result.error is not None
        assert result.error.details["limit"] == "wall_ms"


def has_process(group: Path) -> bool:
    """Whether a process lives in the group; one that was removed meanwhile does not count."""
    try:
        return bool((group / "cgroup.procs").read_text()) or not group.exists()
    except OSError:
        return True


# Made in advance, or kept for the next workers.
MOST_WAITING = 24


class TestAGroupThatIsUsedAgain:
    async def test_has_one_worker_at_a_time_and_is_not_made_again(
        self, place: CgroupLocation
    ) -> None:
        """Fewer groups than workers were made; each worker found its own empty."""
        if not place.interface.entry_file:
            pytest.skip("groups have no entrance here; each serves one worker")
        async with meeting({"memory_mb": 128}, place.interface) as (runtime, seen):
            for _ in range(40):
                assert (await runtime.run("await caps.host.look()")).ok
            (home,) = homes(place)
            numbers = [int(group.name.split("-")[1]) for group in home.glob("worker-*")]
            assert max(numbers) < 30
            for group in home.glob("worker-*"):
                assert len((group / "cgroup.procs").read_text().split()) <= 1
        assert len({pid for found in seen for pid in found}) >= 40

    async def test_is_not_given_away_while_a_process_is_in_it(self, place: CgroupLocation) -> None:
        """Also if it was empty a moment ago: the kernel keeps lists of processes for a second."""
        if not place.interface.entry_file:
            pytest.skip("groups have no entrance here; each serves one worker")
        home = CgroupRoot(place)
        prepared = PreparedGroup(home.new_group(), renewable=True)
        with subprocess.Popen(("/bin/sleep", "600")) as process:
            before = prepared.renew()
            prepared.group.admit(process.pid)
            meanwhile = prepared.renew()
            process.kill()
        assert (before, meanwhile, prepared.renew()) == (True, False, True)
        prepared.close()
        assert home.remove()
        home.release()

    async def test_has_not_the_peak_of_its_last_worker(self, place: CgroupLocation) -> None:
        """It would be blamed for the end of the next one."""
        if not place.interface.peak_files:
            pytest.skip("groups have no peak here; their own events tell")

        def peak(group: Path) -> int:
            with suppress(OSError):  # one that is not used again is removed meanwhile
                return int((group / place.interface.peak_files[0]).read_text())
            return 0

        async with Runtime({"limits": {"memory_mb": 256}}, audit=MemoryAuditLog()) as runtime:
            assert (await runtime.run(TAKE_100_MEGABYTES)).ok
            (home,) = homes(place)
            while max(map(peak, home.glob("worker-*"))) > 50 * MEGABYTE:
                await anyio.lowlevel.checkpoint()

    async def test_has_killed_nobody_before(self, place: CgroupLocation) -> None:
        """One that ran out of memory is removed; the next worker's end is its own."""
        async with Runtime(
            {"limits": {"memory_mb": 1024}}, audit=MemoryAuditLog(), workers=TightSource()
        ) as runtime:
            for _ in range(4):
                assert (await runtime.run(TAKE_100_MEGABYTES)).status.value == "limit"
            assert (await runtime.run("6 * 7")).value == 42
            (home,) = homes(place)
            counters = "memory.events" if place.interface.needs_delegation else "memory.oom_control"

            def has_killed(group: Path) -> bool:
                with suppress(OSError):  # it is removed meanwhile
                    text = (group / counters).read_text()
                    return re.search(r"^oom_kill [1-9]", text, re.MULTILINE) is not None
                return False

            while any(map(has_killed, home.glob("worker-*"))):
                await anyio.lowlevel.checkpoint()


class TestNothingIsLeft:
    async def test_of_a_worker_that_has_ended(self, place: CgroupLocation) -> None:
        """While the runtime is open, a group is in use, or one of a few that wait for a worker."""
        async with observed_runtime() as host:
            for _ in range(40):
                assert await host.works()
            (home,) = homes(place)
            while sum(not has_process(group) for group in home.glob("worker-*")) > MOST_WAITING:
                await anyio.lowlevel.checkpoint()

    async def test_of_a_runtime_that_was_closed(self, place: CgroupLocation) -> None:
        """Though code ran, a spare waited and the zygote had been killed."""
        async with anyio.create_task_group() as tasks, observed_runtime() as host:
            tasks.start_soon(host.runtime.run, "await caps.host.meet()\nwhile True: pass")
            await host.until_met()
            with open_pidfds(host.zygote, *children(host.zygote)) as family:
                os.kill(host.zygote, signal.SIGKILL)
                for process in family:  # a spare that dies later may be running code by then
                    await anyio.wait_readable(process)
            assert await host.works()
            assert len(homes(place)) == 1
        assert homes(place) == []

    async def test_of_a_host_that_was_killed_once_another_opens(
        self, place: CgroupLocation
    ) -> None:
        """The next host removes it, and leaves alone what belongs to one that lives."""
        with subprocess.Popen(
            [sys.executable, "-c", LIVING], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as killed:
            assert killed.stdout is not None
            assert killed.stdout.readline() == b"open\n"
            (left,) = homes(place)
            async with Runtime({}, audit=MemoryAuditLog()) as runtime:
                assert left in homes(place)
                family = descendants(killed.pid)
                with open_pidfds(*family) as processes:
                    killed.kill()
                    assert all(has_ended(p, within_seconds=PATIENCE_SECONDS) for p in processes)
                (own,) = set(homes(place)) - {left}
                async with Runtime({}, audit=MemoryAuditLog()):
                    found = homes(place)
                    assert left not in found
                    assert own in found
                assert (await runtime.run("6 * 7")).value == 42
        assert homes(place) == []


LIVING = """
import sys
from caps import MemoryAuditLog, Runtime
with Runtime({}, audit=MemoryAuditLog()) as runtime:
    assert runtime.run_sync("6 * 7").value == 42
    print("open", flush=True)
    sys.stdin.read()
"""


async def test_a_group_that_vanished_costs_no_execution_and_is_reported(
    place: CgroupLocation, caplog: pytest.LogCaptureFixture
) -> None:
    """The rlimit holds that worker, the log says it once, and the layer counts it."""
    with caplog.at_level(logging.WARNING):
        async with observed_runtime() as host:
            pid = pid_of(await host.spare())
            group = group_of(pid, place.interface)
            (home,) = homes(place)
            write(home / "zygote" / "cgroup.procs", str(pid))
            (home / Path(group).name).rmdir()
            result = await host.runtime.run("[0] * 10**9")
            assert result.error is not None
            assert result.error.details["limit"] == "memory_mb"
            layer = memory_layer(host.runtime.layers)
            assert "1 times rlimit only: No such file or directory" in layer.detail
            assert await host.works()
    told = [record.message for record in caplog.records if "rlimit alone" in record.message]
    assert told == ["a worker's memory is bounded by rlimit alone: No such file or directory"]


async def test_a_worker_that_cannot_enter_its_group_is_moved_there(
    place: CgroupLocation, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The kernel refuses the entry: it is logged once, and the host moves later workers."""
    if not place.interface.entry_file:
        pytest.skip("groups have no entrance here; workers are moved anyway")

    def full(_group: MemoryGroup) -> int:
        return os.open("/dev/full", os.O_WRONLY)

    monkeypatch.setattr(MemoryGroup, "open_entry", full)
    with caplog.at_level(logging.WARNING):
        async with observed_runtime() as host:
            assert await host.works()
            groups = [group_of(pid_of(await host.spare()), place.interface)]
            assert "/worker-" in groups[0]
    told = [record.message for record in caplog.records if "by themselves" in record.message]
    assert told == ["workers cannot enter their memory groups by themselves; they are moved"]


async def test_a_named_place_of_no_use_refuses_to_open(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """An operator who names a group gets it, or an error."""
    monkeypatch.setenv("CAPS_CGROUP", str(tmp_path))
    with pytest.raises(ConfigurationError, match="CAPS_CGROUP"):
        async with Runtime({}, audit=MemoryAuditLog()):
            raise AssertionError("opened")


# What no kernel moves anywhere.
NO_PROCESS = -5


async def test_a_place_that_no_process_may_be_moved_to_is_not_used(
    place: CgroupLocation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It shows with the zygote: the rlimit is alone then, the layer says why, nothing is left."""
    monkeypatch.setattr(limiter, "find_locations", lambda: [place])
    monkeypatch.delenv("CAPS_CGROUP")
    memory = MemoryLimiter()
    async with memory.open():
        assert memory.layer.detail == f"{place}, and rlimit"
        await memory.move_in_zygote(NO_PROCESS)
        assert memory.layer.detail.startswith("rlimit only")
        assert f"{place}: Invalid argument" in memory.layer.detail
        assert homes(place) == []


async def test_a_named_place_that_no_process_may_be_moved_to_is_an_error(
    place: CgroupLocation,
) -> None:
    """The operator's setting cannot be used."""
    memory = MemoryLimiter()
    async with memory.open():
        with pytest.raises(ConfigurationError, match="no worker can be given a memory limit"):
            await memory.move_in_zygote(NO_PROCESS)
    assert homes(place) == []


def test_the_doctor_names_the_group(place: CgroupLocation) -> None:
    """In its table and in its object."""
    caps = Path(sys.executable).with_name("caps")
    told = json.loads(subprocess.check_output((caps, "doctor", "--json")))
    assert told["memory"] == f"{place}, and rlimit"
    table = subprocess.check_output((caps, "doctor"), text=True)
    assert place.directory.name in table.replace("\n", "")


# A mount namespace in which no group is to be found.
WITHOUT_GROUPS = """
import os, sys
from caps.worker.inside.confinement import linux
linux.unshare(linux.CLONE_NEWNS)
linux._checked(linux._libc.mount(None, b"/", None, 1 << 18 | 1 << 14, None), "mount")
linux._checked(linux._libc.mount(b"none", b"/sys", b"tmpfs", 0, None), "mount tmpfs")
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to hide the groups")
def test_without_groups_the_rlimit_is_enough_and_the_doctor_says_what_to_do() -> None:
    """No gap, nothing refused: one line tells how to have a group."""
    caps = Path(sys.executable).with_name("caps")
    told = json.loads(
        subprocess.check_output(
            (sys.executable, "-c", WITHOUT_GROUPS, str(caps), "doctor", "--json"),
            env={name: value for name, value in os.environ.items() if name != "CAPS_CGROUP"},
        )
    )
    (layer,) = [layer for layer in told["layers"] if layer["name"] == "memory"]
    assert told["memory"].startswith("rlimit only")
    assert layer["enforcement"] == "fully"
    assert "Delegate=yes" in layer["remedy"]
    assert "CAPS_CGROUP" in layer["remedy"]
