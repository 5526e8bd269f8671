"""Where memory groups are searched for: parsing /proc, and choosing among the results."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from caps.protocol.errors import ConfigurationError
from caps.worker.host.memory.cgroup import CgroupRoot, MemoryGroup
from caps.worker.host.memory.cgroup_discovery import (
    V1,
    V2,
    CgroupInterface,
    CgroupLocation,
    Mount,
    choose,
    find_locations,
    is_delegated,
    read_mounts,
)
from caps.worker.host.process.worker import OutOfMemory

HYBRID = """\
23 1 0:21 / /sys rw,nosuid shared:7 - sysfs sysfs rw
34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 master:1 - cgroup cgroup rw,memory
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw,nsdelegate
"""
PURE_V2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
IN_A_CONTAINER = "99 80 0:26 /docker/ab /sys/fs/cgroup ro - cgroup2 cgroup rw\n"
ODD_NAME = "9 1 0:26 / /mnt/a\\040b\\134c rw - cgroup2 none rw\n"


class TestMounts:
    def test_are_found_and_v2_comes_first(self) -> None:
        """Optional fields before the dash vary in number; other controllers are ignored."""
        assert read_mounts(HYBRID) == [
            Mount("/", Path("/sys/fs/cgroup/unified"), V2),
            Mount("/", Path("/sys/fs/cgroup/memory"), V1),
        ]
        assert read_mounts(PURE_V2) == [Mount("/", Path("/sys/fs/cgroup"), V2)]

    def test_may_show_a_part_or_have_an_odd_name(self) -> None:
        """What is mounted may be a group below the root; escapes are undone."""
        assert read_mounts(IN_A_CONTAINER) == [Mount("/docker/ab", Path("/sys/fs/cgroup"), V2)]
        assert read_mounts(ODD_NAME)[0].point == Path("/mnt/a b\\c")

    @pytest.mark.parametrize(
        ("root", "group", "directory"),
        [
            ("/", "/", "/cg"),
            ("/", "/a/b", "/cg/a/b"),
            ("/docker/ab", "/docker/ab", "/cg"),
            ("/docker/ab", "/docker/ab/c", "/cg/c"),
            ("/docker/ab", "/docker/abc", None),
            ("/docker/ab", "/", None),
            ("/", "/../other", None),
        ],
    )
    def test_show_groups_below_their_root(
        self, root: str, group: str, directory: str | None
    ) -> None:
        """A group outside of what is mounted, or of our namespace, has no directory."""
        found = Mount(root, Path("/cg"), V2).directory_of(group)
        assert found == (None if directory is None else Path(directory))


@pytest.fixture
def service(tmp_path: Path) -> Path:
    """A v2 tree of plain files: a service, and the subgroup that its processes are in."""
    (tmp_path / "slice" / "service" / "main").mkdir(parents=True)
    return tmp_path / "slice" / "service"


def v2_places(root: Path, group: str) -> list[Path]:
    found = choose([Mount("/", root, V2)], f"0::{group}\n")
    return [place.directory for place in found]


def mark(directory: Path) -> None:
    try:
        os.setxattr(directory, "user.delegate", b"1")
    except OSError:
        pytest.skip("this file system has no extended attributes for users")


class TestTheChoice:
    def test_is_the_own_group(self) -> None:
        """In both versions; which of them can bound memory shows when it is tried."""
        found = choose(read_mounts(HYBRID), "4:memory:/jobs/7\n3:cpu,cpuacct:/x\n0::/\n")
        assert found == [
            CgroupLocation(Path("/sys/fs/cgroup/unified"), V2),
            CgroupLocation(Path("/sys/fs/cgroup/memory/jobs/7"), V1),
        ]

    def test_is_then_the_group_above_if_it_was_delegated(
        self, tmp_path: Path, service: Path
    ) -> None:
        """The layout of systemd's Delegate= with DelegateSubgroup=."""
        mark(service)
        assert v2_places(tmp_path, "/slice/service/main") == [service / "main", service]

    def test_is_never_a_group_that_others_manage(self, tmp_path: Path, service: Path) -> None:
        """That root may write to it, or that a subgroup was delegated, is not enough."""
        assert v2_places(tmp_path, "/slice/service/main") == [service / "main"]
        mark(service)
        assert v2_places(tmp_path, "/slice/service") == [service]

    def test_ends_at_the_mount(self, tmp_path: Path) -> None:
        """What is above the mount point is not a valid group."""
        mark(tmp_path.parent)
        assert v2_places(tmp_path, "/") == [tmp_path]
        os.removexattr(tmp_path.parent, "user.delegate")

    @pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give a directory away")
    def test_takes_a_directory_that_was_given_to_our_user_for_delegated(
        self, service: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The topmost one that is ours: those below it are in the hands of who manages it."""
        for directory in (service, service / "main"):
            os.chown(directory, 1000, 1000)
        monkeypatch.setattr(os, "geteuid", lambda: 1000)
        assert is_delegated(service)
        assert not is_delegated(service / "main")
        assert not is_delegated(service.parent)

    def test_may_be_empty(self) -> None:
        """Without a hierarchy for memory there is none."""
        assert choose([], "0::/\n") == []
        assert choose(read_mounts(HYBRID), "") == []


@pytest.mark.parametrize("named", ["sys/fs/cgroup", "/no/such/group", "/proc", "/tmp/../tmp"])
def test_a_named_group_must_be_one(named: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An operator's setting that cannot be used is an error, and no other place is tried."""
    monkeypatch.setenv("CAPS_CGROUP", named)
    with pytest.raises(ConfigurationError, match=f"CAPS_CGROUP is `{named}`; set "):
        find_locations()


class TestAGroup:
    """Of plain files, where the kernel would have made its own."""

    def group(self, directory: Path, interface: CgroupInterface, **files: str) -> MemoryGroup:
        for name in (*interface.limits, *files):
            (directory / name).write_text(files.get(name, ""))
        return MemoryGroup(directory, interface)

    def test_of_v2_is_limited_by_one_write(self, tmp_path: Path) -> None:
        """In bytes; the same limit again is not written."""
        group = self.group(tmp_path, V2)
        group.limit(64)
        assert (tmp_path / "memory.max").read_text() == "67108864"
        (tmp_path / "memory.max").write_text("untouched")
        group.limit(64)
        assert (tmp_path / "memory.max").read_text() == "untouched"

    def test_without_its_limit_file_is_an_error(self, tmp_path: Path) -> None:
        """Never a file of that name that bounds nothing, and never taken for done."""
        group = MemoryGroup(tmp_path, V2)
        for _ in range(2):
            with pytest.raises(FileNotFoundError):
                group.limit(64)
        assert list(tmp_path.iterdir()) == []

    def test_of_v1_may_lack_the_limit_with_swap(self, tmp_path: Path) -> None:
        """A kernel without swap accounting has only the first of the two."""
        (tmp_path / "memory.limit_in_bytes").touch()
        MemoryGroup(tmp_path, V1).limit(1)
        assert (tmp_path / "memory.limit_in_bytes").read_text() == "1048576"

    @pytest.mark.parametrize(
        ("events", "verdict"),
        [
            ("low 0\nhigh 0\nmax 9\noom 0\noom_kill 0\noom_group_kill 0\n", None),
            ("low 0\nhigh 0\nmax 9\noom 1\noom_kill 1\noom_group_kill 1\n", OutOfMemory.OWN_LIMIT),
            ("low 0\nhigh 0\nmax 0\noom 0\noom_kill 1\n", OutOfMemory.ELSEWHERE),
        ],
    )
    def test_of_v2_tells_whose_limit_killed(
        self, tmp_path: Path, events: str, verdict: OutOfMemory | None
    ) -> None:
        """A kill because of a parent group is counted here, too, but not as this group's."""
        assert self.group(tmp_path, V2, **{"memory.events": events}).out_of_memory() is verdict

    @pytest.mark.parametrize(
        ("kills", "most", "verdict"),
        [
            (0, (1 << 20, 1 << 20), None),
            (1, (1 << 20, 0), OutOfMemory.OWN_LIMIT),
            (1, (0, 1 << 20), OutOfMemory.OWN_LIMIT),
            (1, ((1 << 20) - 4096, 0), OutOfMemory.OWN_LIMIT),
            (1, (900_000, 900_000), OutOfMemory.ELSEWHERE),
        ],
    )
    def test_of_v1_tells_whose_limit_killed(
        self, tmp_path: Path, kills: int, most: tuple[int, int], verdict: OutOfMemory | None
    ) -> None:
        """It had been full, with or without swap, except for less than one allocation."""
        files = {
            "memory.oom_control": f"oom_kill_disable 0\nunder_oom 0\noom_kill {kills}\n",
            "memory.max_usage_in_bytes": f"{most[0]}\n",
            "memory.memsw.max_usage_in_bytes": f"{most[1]}\n",
        }
        group = self.group(tmp_path, V1, **files)
        group.limit(1)
        assert group.out_of_memory() is verdict

    def test_above_without_the_controller_is_refused(self, tmp_path: Path) -> None:
        """And nothing is left in it."""
        (tmp_path / "cgroup.controllers").write_text("cpu hugetlb\n")
        with pytest.raises(OSError, match="no memory controller"):
            CgroupRoot(CgroupLocation(tmp_path, V2))
        assert [entry.name for entry in tmp_path.iterdir()] == ["cgroup.controllers"]

    def test_above_asks_for_the_controller(self, tmp_path: Path) -> None:
        """In plain files no child gets it, so that the place is refused and left as it was."""
        (tmp_path / "cgroup.controllers").write_text("cpu memory\n")
        (tmp_path / "cgroup.subtree_control").write_text("cpu")
        with pytest.raises(FileNotFoundError):
            CgroupRoot(CgroupLocation(tmp_path, V2))
        assert (tmp_path / "cgroup.subtree_control").read_text().startswith("+memory")
        assert [entry.name for entry in tmp_path.iterdir() if entry.is_dir()] == []
