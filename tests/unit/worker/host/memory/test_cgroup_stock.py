"""Memory groups that are created in advance, in a thread, while the event loop continues."""

from __future__ import annotations

import resource
import threading
from collections.abc import Callable
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from caps.worker.host.memory.cgroup import CgroupRoot, MemoryGroup
from caps.worker.host.memory.cgroup_discovery import V1
from caps.worker.host.memory.cgroup_stock import CgroupStock

pytestmark = pytest.mark.anyio


class _PlainHome(CgroupRoot):
    """Its groups are plain directories, each with a file for an entrance."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.made = 0
        self.before_the_third: Callable[[], None] | None = None

    def new_group(self) -> MemoryGroup:
        self.made += 1
        if self.made == 3 and self.before_the_third is not None:
            self.before_the_third()
        group = MemoryGroup.make(self.directory / str(self.made), V1)
        (group.directory / V1.entry_file).touch()
        return group


def entrances(directory: Path) -> int:
    """How many of them this process holds open."""
    found = 0
    for link in Path("/proc/self/fd").iterdir():
        try:
            found += link.readlink().is_relative_to(directory)
        except FileNotFoundError:  # that of the listing itself
            continue
    return found


async def test_groups_that_are_closed_while_more_are_made_leave_no_entrance(tmp_path: Path) -> None:
    """What the thread makes after that is closed by the thread."""
    home, closed = _PlainHome(tmp_path), threading.Event()
    groups = CgroupStock(home, anyio.CapacityLimiter(1))

    def close() -> None:
        groups.close()
        closed.set()

    home.before_the_third = close
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(groups.keep_some)
        prepared = await groups.take(None)
        prepared.close()
        assert await anyio.to_thread.run_sync(closed.wait, 20)
        tasks.cancel_scope.cancel()
    assert entrances(tmp_path) == 0
    assert home.made == 3


@pytest.mark.parametrize(("files", "most"), [(100, 0), (300, 2), (1024, 8), (1_000_000, 16)])
async def test_a_process_that_may_open_few_files_uses_few_groups_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: int, most: int
) -> None:
    """Those that stay open would be missing for workers."""
    monkeypatch.setattr(resource, "getrlimit", lambda _: (files, files))
    groups = CgroupStock(_WholeHome(tmp_path), anyio.CapacityLimiter(1))
    made = [groups._make() for _ in range(20)]
    assert sum(prepared.renewable for prepared in made) == most
    for prepared in made:
        prepared.close()


class _WholeHome(_PlainHome):
    """Its groups have all files through which they are renewed."""

    def new_group(self) -> MemoryGroup:
        group = super().new_group()
        for name in ("cgroup.procs", V1.oom_file, V1.usage_file, *V1.peak_files):
            (group.directory / name).touch()
        return group
