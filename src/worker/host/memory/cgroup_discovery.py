"""Where groups with a memory limit can be made: the parsing of /proc, and the choice.

Looked at in this order; the first that works is taken, and all that do not say why:

- the group that CAPS_CGROUP names, and then no other;
- cgroup v2: the host's own group, which works only for the root of the hierarchy, as a group with
  processes in it cannot hand controllers on to its children; else the group above it, if that one
  was delegated to us (systemd: `Delegate=yes` with `DelegateSubgroup=`). What nobody delegated
  belongs to whoever manages it, and root's being able to write there changes nothing about that;
- cgroup v1 (its memory hierarchy): the host's own group.

v1 and v2 differ in the names of files; an `Interface` holds them.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from caps.protocol.errors import ConfigurationError

CGROUP_VARIABLE = "CAPS_CGROUP"


class Interface(msgspec.Struct, frozen=True):
    """The files through which one version of cgroups bounds memory."""

    name: str
    # Bytes, written in this order when a limit is lowered and backwards when it is raised: v1
    # refuses a bound on memory and swap together that is below the one on memory. The first has to
    # be there, the others are written where the kernel has them.
    limits: tuple[str, ...]
    # Written once for each group, where the kernel has them.
    at_birth: tuple[tuple[str, str], ...]
    # The file whose `oom_kill` counts the kills in the group, whichever limit was the reason.
    kills: str
    # What tells that the limit was the group's own: a field of `kills` that counts how often it was
    # met, or files with the most that was ever used. (v1's `failcnt` stays 0 on newer kernels.)
    own_limit: str
    most_used: tuple[str, ...]
    # Whether a group has to hand the memory controller on to its children.
    hands_on: bool
    # The file through which a process enters by itself and at once; empty if there is none.
    entrance: str


V2 = Interface(
    name="cgroup v2",
    limits=("memory.max",),
    at_birth=(("memory.swap.max", "0"), ("memory.oom.group", "1")),
    kills="memory.events",
    own_limit="oom",
    most_used=(),
    hands_on=True,
    entrance="",
)
V1 = Interface(
    name="cgroup v1",
    limits=("memory.limit_in_bytes", "memory.memsw.limit_in_bytes"),
    at_birth=(),
    kills="memory.oom_control",
    own_limit="",
    most_used=("memory.max_usage_in_bytes", "memory.memsw.max_usage_in_bytes"),
    hands_on=False,
    entrance="tasks",
)


class Place(msgspec.Struct, frozen=True):
    """A group whose children may be ours, and how it is spoken to."""

    directory: Path
    interface: Interface

    def __str__(self) -> str:
        return f"{self.interface.name} at {self.directory}"


class Mount(msgspec.Struct, frozen=True):
    """A mounted hierarchy: which of its groups is seen at which directory."""

    root: str
    point: Path
    interface: Interface

    def directory_of(self, group: str) -> Path | None:
        """Where `group` is seen; None if it lies outside of what is mounted."""
        if ".." in group.split("/"):  # outside of our cgroup namespace
            return None
        inside = os.path.relpath(group, self.root)
        return None if inside.startswith("..") else self.point / inside


def find_places() -> list[Place]:
    """Where to try, best first; a ConfigurationError if CAPS_CGROUP names no group."""
    named = os.environ.get(CGROUP_VARIABLE)
    try:
        mounts = read_mounts(Path("/proc/self/mountinfo").read_text())
        groups = Path("/proc/self/cgroup").read_text()
    except OSError:  # no /proc, and so no way to tell
        mounts, groups = [], ""
    if named:
        return [_named_place(named, mounts)]
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


def choose(mounts: list[Mount], groups: str) -> list[Place]:
    """The places of a host whose /proc/self/cgroup is `groups`."""
    own = {V2: _group_of(groups, ""), V1: _group_of(groups, "memory")}
    found = []
    for mount in mounts:
        group = own[mount.interface]
        directory = None if group is None else mount.directory_of(group)
        if directory is None:
            continue
        found.append(Place(directory, mount.interface))
        above = directory.parent
        if mount.interface is V2 and directory != mount.point and is_delegated(above):
            found.append(Place(above, V2))
    return found


def is_delegated(directory: Path) -> bool:
    """Whether the group at `directory` was handed to us, to make groups in it as we like."""
    for mark in ("user.delegate", "trusted.delegate"):  # systemd's
        try:
            if os.getxattr(directory, mark) == b"1":
                return True
        except OSError:
            continue
    # Without the mark: it belongs to our user and the one above does not, so somebody gave it to
    # us. To root everything belongs, which says nothing.
    try:
        owner, above = directory.stat().st_uid, directory.parent.stat().st_uid
    except OSError:
        return False
    return owner == os.geteuid() != above and owner != 0


def _named_place(named: str, mounts: list[Mount]) -> Place:
    directory = Path(named)
    holding = [mount for mount in mounts if directory.is_relative_to(mount.point)]
    if not directory.is_absolute() or ".." in directory.parts or not directory.is_dir():
        raise ConfigurationError(
            f"{CGROUP_VARIABLE} is `{named}`; set the absolute path of a group that exists"
        )
    if not holding:
        raise ConfigurationError(
            f"{CGROUP_VARIABLE} is `{named}`; set a directory of a mounted cgroup hierarchy with "
            "the memory controller"
        )
    return Place(directory, max(holding, key=lambda mount: len(mount.point.parts)).interface)


def _group_of(groups: str, controller: str) -> str | None:
    """The path of the group in the hierarchy of `controller`; v2's has no name."""
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
