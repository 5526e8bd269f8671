"""Finds where groups with a memory limit can be created: parses /proc and chooses.

The locations are tried in this order. The first one that works is used; the others report why not:

- the group that CAPS_CGROUP names, and then no other;
- cgroup v2: the host's own group, which works only for the root of the hierarchy, because a group
  with processes in it cannot enable controllers for its children; otherwise its parent group, if
  that one was delegated to us (systemd: `Delegate=yes` with `DelegateSubgroup=`). A group that was
  not delegated belongs to its manager, even if root can write there;
- cgroup v1 (its memory hierarchy): the host's own group.

v1 and v2 differ in the names of files; a `CgroupInterface` holds them.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from caps.protocol.environment import Variable
from caps.protocol.errors import ConfigurationError


class CgroupInterface(msgspec.Struct, frozen=True):
    """The files through which one version of cgroups bounds memory."""

    name: str
    # Limits in bytes, written in this order when a limit is lowered and in reverse when it is
    # raised: v1 refuses a limit on memory plus swap that is below the one on memory. The first file
    # has to exist, the others are written where the kernel has them.
    limits: tuple[str, ...]
    # Written once for each group, where the kernel has them.
    on_create: tuple[tuple[str, str], ...]
    # The file whose `oom_kill` counts the OOM kills in the group, for whichever limit.
    oom_file: str
    # These show that the group's own limit was reached: a field of `oom_file` that counts how often
    # that happened, or files with the peak usage. (v1's `failcnt` stays 0 on newer kernels.)
    own_limit_field: str
    peak_files: tuple[str, ...]
    # The file with the memory that is charged to the group now; empty where a group serves one
    # worker only, as without an `entry_file`.
    usage_file: str
    # Whether a group has to enable the memory controller for its children.
    needs_delegation: bool
    # The file through which a process enters by itself without a delay; empty if there is none.
    entry_file: str


V2 = CgroupInterface(
    name="cgroup v2",
    limits=("memory.max",),
    on_create=(("memory.swap.max", "0"), ("memory.oom.group", "1")),
    oom_file="memory.events",
    own_limit_field="oom",
    peak_files=(),
    usage_file="",
    needs_delegation=True,
    entry_file="",
)
V1 = CgroupInterface(
    name="cgroup v1",
    limits=("memory.limit_in_bytes", "memory.memsw.limit_in_bytes"),
    on_create=(),
    oom_file="memory.oom_control",
    own_limit_field="",
    peak_files=("memory.max_usage_in_bytes", "memory.memsw.max_usage_in_bytes"),
    usage_file="memory.usage_in_bytes",
    needs_delegation=False,
    entry_file="tasks",
)


class CgroupLocation(msgspec.Struct, frozen=True):
    """A group in which we may create groups, and its interface."""

    directory: Path
    interface: CgroupInterface

    def __str__(self) -> str:
        return f"{self.interface.name} at {self.directory}"


class Mount(msgspec.Struct, frozen=True):
    """A mounted hierarchy: which of its groups is visible at which directory."""

    root: str
    point: Path
    interface: CgroupInterface

    def directory_of(self, group: str) -> Path | None:
        """Where `group` is visible; None if it is outside of what is mounted."""
        if ".." in group.split("/"):  # outside of our cgroup namespace
            return None
        inside = os.path.relpath(group, self.root)
        return None if inside.startswith("..") else self.point / inside


def find_locations() -> list[CgroupLocation]:
    """The locations to try, best first. ConfigurationError if CAPS_CGROUP names no group."""
    named = Variable.CGROUP.read()
    try:
        mounts = read_mounts(Path("/proc/self/mountinfo").read_text())
        groups = Path("/proc/self/cgroup").read_text()
    except OSError:  # without /proc nothing can be found
        mounts, groups = [], ""
    if named:
        return [_named_location(named, mounts)]
    return choose(mounts, groups)


def read_mounts(mountinfo: str) -> list[Mount]:
    """The hierarchies that can bound memory, v2 before v1."""
    found = []
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        fields, (kind, _, options) = before.split(" "), after.split(" ", 2)
        interface = V2 if kind == "cgroup2" else V1
        if kind == "cgroup2" or (kind == "cgroup" and "memory" in options.split(",")):
            found.append(Mount(_plain(fields[3]), Path(_plain(fields[4])), interface))
    return sorted(found, key=lambda mount: mount.interface is V1)


def choose(mounts: list[Mount], groups: str) -> list[CgroupLocation]:
    """The locations for a host whose /proc/self/cgroup contains `groups`."""
    own = {V2: _group_of(groups, ""), V1: _group_of(groups, "memory")}
    found = []
    for mount in mounts:
        group = own[mount.interface]
        directory = None if group is None else mount.directory_of(group)
        if directory is None:
            continue
        found.append(CgroupLocation(directory, mount.interface))
        above = directory.parent
        if mount.interface is V2 and directory != mount.point and is_delegated(above):
            found.append(CgroupLocation(above, V2))
    return found


def is_delegated(directory: Path) -> bool:
    """Whether the group at `directory` was delegated to us, so that we may create groups in it."""
    for mark in ("user.delegate", "trusted.delegate"):  # systemd's
        try:
            if os.getxattr(directory, mark) == b"1":
                return True
        except OSError:
            continue
    # Without the mark: it belongs to our user and its parent does not, so it was delegated to us.
    # Root owns everything, so for root the owner says nothing.
    try:
        owner, above = directory.stat().st_uid, directory.parent.stat().st_uid
    except OSError:
        return False
    return owner == os.geteuid() != above and owner != 0


def _named_location(named: str, mounts: list[Mount]) -> CgroupLocation:
    directory = Path(named)
    holding = [mount for mount in mounts if directory.is_relative_to(mount.point)]
    if not directory.is_absolute() or ".." in directory.parts or not directory.is_dir():
        raise ConfigurationError(
            f"{Variable.CGROUP.key} is `{named}`; set the absolute path of a group that exists"
        )
    if not holding:
        raise ConfigurationError(
            f"{Variable.CGROUP.key} is `{named}`; "
            "set a directory of a mounted cgroup hierarchy with the memory controller"
        )
    return CgroupLocation(
        directory, max(holding, key=lambda mount: len(mount.point.parts)).interface
    )


def _group_of(groups: str, controller: str) -> str | None:
    """The path of our group in the hierarchy of `controller`; the one of v2 has no name."""
    for line in groups.splitlines():
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(","):
            return path
    return None


def _plain(field: str) -> str:
    """A field of mountinfo without its escapes."""
    for escape, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        field = field.replace(escape, character)
    return field
