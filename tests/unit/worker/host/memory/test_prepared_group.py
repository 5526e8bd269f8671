"""Groups that serve one worker after another: never with anything left of the one before."""

from __future__ import annotations

import logging
from pathlib import Path

import anyio
import pytest

from caps.worker.host.memory.cgroup import CgroupRoot, MemoryGroup
from caps.worker.host.memory.cgroup_discovery import V1
from caps.worker.host.memory.cgroup_stock import CgroupStock
from caps.worker.host.memory.limiter import CgroupMembership, MemoryLimiter
from caps.worker.host.memory.prepared_group import PreparedGroup

pytestmark = pytest.mark.anyio

_EMPTY = {
    "tasks": "",
    "cgroup.procs": "",
    "memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n",
    "memory.usage_in_bytes": "4096\n",
    "memory.max_usage_in_bytes": "9\n",
    "memory.memsw.max_usage_in_bytes": "9\n",
    "memory.limit_in_bytes": "",
}


class _PlainHome(CgroupRoot):
    """Its groups are plain directories."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.made = 0

    def new_group(self) -> MemoryGroup:
        self.made += 1
        group = MemoryGroup.make(self.directory / str(self.made), V1)
        fill(group.directory)
        return group


def fill(directory: Path, **changed: str) -> None:
    for name, text in {**_EMPTY, **changed}.items():
        (directory / name).write_text(text)


class TestAGroup:
    def test_without_anything_left_is_renewed(self, tmp_path: Path) -> None:
        """Its peaks are those of the next worker."""
        fill(tmp_path)
        prepared = PreparedGroup(MemoryGroup(tmp_path, V1), renewable=True)
        assert prepared.renew()
        for name in V1.peak_files:
            assert (tmp_path / name).read_text().startswith("0")
        prepared.close()

    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("cgroup.procs", "7\n"),
            ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n"),
            ("memory.usage_in_bytes", "8388608\n"),
            ("memory.usage_in_bytes", ""),
        ],
        ids=["a process", "a kill", "memory", "an unreadable file"],
    )
    def test_with_something_left_is_not(self, tmp_path: Path, name: str, text: str) -> None:
        """Then it is removed."""
        fill(tmp_path)
        prepared = PreparedGroup(MemoryGroup(tmp_path, V1), renewable=True)
        (tmp_path / name).write_text(text)
        assert not prepared.renew()
        prepared.close()

    def test_that_cannot_be_checked_says_why(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        """The next group is made without a word otherwise."""
        fill(tmp_path)
        prepared = PreparedGroup(MemoryGroup(tmp_path, V1), renewable=True)
        (tmp_path / "cgroup.procs").unlink()
        with caplog.at_level(logging.DEBUG):
            assert not prepared.renew()
        assert "cgroup.procs" in caplog.text
        prepared.close()

    def test_without_its_files_serves_one_worker(self, tmp_path: Path) -> None:
        """On a kernel that lacks one of them."""
        (tmp_path / "tasks").touch()
        prepared = PreparedGroup(MemoryGroup(tmp_path, V1), renewable=True)
        assert (prepared.renewable, prepared.renew()) == (False, False)
        prepared.close()


class TestTheStock:
    async def test_gives_the_same_group_again(self, tmp_path: Path) -> None:
        """The one that was used last; none is made for it."""
        home = _PlainHome(tmp_path)
        stock = CgroupStock(home, anyio.CapacityLimiter(1))
        prepared = await stock.take(None)
        assert stock.take_back(prepared)
        assert await stock.take(None) is prepared
        assert home.made == 1
        prepared.close()

    async def test_keeps_a_bounded_number(self, tmp_path: Path) -> None:
        """The others serve one worker each; a place is free again when one is discarded."""
        stock = CgroupStock(_PlainHome(tmp_path), anyio.CapacityLimiter(1))
        taken = [await stock.take(None) for _ in range(20)]
        assert [prepared.renewable for prepared in taken] == [True] * 16 + [False] * 4
        stock.discard(taken[0])
        taken[0] = await stock.take(None)
        assert taken[0].renewable
        for prepared in taken:
            prepared.close()

    async def test_takes_none_back_when_it_is_closed(self, tmp_path: Path) -> None:
        """Its groups are removed with their root."""
        stock = CgroupStock(_PlainHome(tmp_path), anyio.CapacityLimiter(1))
        prepared = await stock.take(None)
        stock.close()
        assert not stock.take_back(prepared)
        prepared.close()


class TestAWorkersEnd:
    @pytest.fixture
    def memory(self, tmp_path: Path) -> MemoryLimiter:
        memory = MemoryLimiter()
        memory._prepared = CgroupStock(_PlainHome(tmp_path), anyio.CapacityLimiter(1))
        return memory

    @pytest.mark.parametrize("reaped", [True, False])
    async def test_frees_its_group_only_once_it_is_reaped(
        self, memory: MemoryLimiter, reaped: bool
    ) -> None:
        """One whose zygote has ended may still be there for a moment."""
        prepared = await memory.prepare()
        assert prepared is not None
        CgroupMembership(memory, prepared.group, prepared).leave(reaped=reaped)
        assert (memory._released == [prepared.group]) is not reaped
        assert memory._prepared is not None
        again = await memory._prepared.take(None)
        assert (again is prepared) is reaped
        again.close()

    async def test_that_never_began_leaves_a_group_that_is_not_used_again(
        self, memory: MemoryLimiter
    ) -> None:
        """The order was given up; the worker may still be forked, and enter."""
        prepared = await memory.prepare()
        assert prepared is not None
        memory.give_back(prepared)
        assert memory._released == [prepared.group]
        assert memory._prepared is not None
        other = await memory._prepared.take(None)
        assert other is not prepared
        other.close()
