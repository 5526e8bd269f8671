"""Memory groups: each worker in a cgroup of its own, so that the kernel counts what it uses.

Two limits bound a worker, both at `limits.memory_mb`. RLIMIT_AS, which the worker sets itself,
counts what it maps: the kernel refuses a mapping and Python raises MemoryError, which the code can
catch. The group, which the host sets, counts what is used, including the kernel's memory on behalf
of the worker, and the kernel kills the worker with SIGKILL. What is used is less than what is
mapped (the interpreter's shared pages are mapped, and charged to the zygote), so ordinary code
reaches RLIMIT_AS first. The group bounds code that gets around it, and needs no cooperation of the
worker.

A host has one root group, `caps-<token>`, locked (flock) for as long as the host lives. In it there
is one group for the zygote, without a limit, and one for each worker. A root group whose lock is
free was left by a host that was killed, and is removed when the next host opens.

Creating, entering and removing a group takes from microseconds to a tenth of a second, depending on
the kernel. So it happens in a thread, while the worker is a spare or has ended, and a few groups
serve one worker after another (`prepared_group.py`). After a failure a worker has no group, but the
execution still runs and RLIMIT_AS still applies; the failure is logged and counted in the layer's
detail.
"""

from __future__ import annotations

import errno
import fcntl
import itertools
import logging
import os
import re
import resource
import secrets
from contextlib import suppress
from pathlib import Path

import msgspec

from caps.worker.host.memory.cgroup_discovery import CgroupInterface, CgroupLocation
from caps.worker.host.process.worker import OutOfMemory

logger = logging.getLogger(__name__)

_OURS = re.compile(r"caps-[0-9a-f]{16}")
_ATTEMPTS = 8
MEGABYTE = 1024 * 1024
# The largest allocation for which the OOM killer is invoked; a larger one just fails.
_OOM_ALLOCATION = 8 * resource.getpagesize()


class MemoryGroup(msgspec.Struct):
    """A group without children. Blocking; every method may raise OSError."""

    directory: Path
    interface: CgroupInterface
    # None until the limit is written.
    limit_mb: int | None = None

    @classmethod
    def make(cls, directory: Path, interface: CgroupInterface) -> MemoryGroup:
        """A new group, without a limit."""
        directory.mkdir()
        for name, value in interface.on_create:
            with suppress(FileNotFoundError):  # a kernel without swap does not have its file
                write(directory / name, value)
        return cls(directory, interface)

    def admit(self, pid: int) -> None:
        """Move a process here. Memory that it used before stays charged to its previous group."""
        write(self.directory / "cgroup.procs", str(pid))

    def admit_with_children(self, pid: int) -> None:
        """The same with the children that it has already; later ones begin where it is."""
        self.admit(pid)
        try:
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text()
        except FileNotFoundError:  # a kernel without CONFIG_PROC_CHILDREN
            logger.debug("the children of a zygote are not listed, and stay where they are")
            return
        for child in children.split():
            with suppress(ProcessLookupError):
                self.admit(int(child))

    def open_entry(self) -> int:
        """A file descriptor through which a process enters by itself; the caller closes it."""
        return os.open(self.directory / self.interface.entry_file, os.O_WRONLY | os.O_CLOEXEC)

    def limit(self, megabytes: int) -> None:
        """Bound what the processes in it use in total."""
        if megabytes == self.limit_mb:
            return
        raised = self.limit_mb is not None and megabytes > self.limit_mb
        self.limit_mb = None
        _required, *others = self.interface.limits
        size = str(megabytes * MEGABYTE)
        for name in reversed(self.interface.limits) if raised else self.interface.limits:
            try:
                write(self.directory / name, size)
            except FileNotFoundError:
                if name not in others or not self.directory.is_dir():
                    raise
        self.limit_mb = megabytes

    def out_of_memory(self) -> OutOfMemory | None:
        """Whether the OOM killer killed a process in it, and because of whose limit."""
        counters = parse_counters((self.directory / self.interface.oom_file).read_text())
        if not counters.get("oom_kill"):
            return None
        reached = counters.get(self.interface.own_limit_field, 0) > 0 or self._was_full()
        return OutOfMemory.OWN_LIMIT if reached else OutOfMemory.ELSEWHERE

    def _was_full(self) -> bool:
        """Whether its peak ever came to the limit, less the largest OOM-killed allocation."""
        if self.limit_mb is None:
            return False
        peak = 0
        for name in self.interface.peak_files:
            with suppress(FileNotFoundError):
                peak = max(peak, int((self.directory / name).read_text()))
        return peak > self.limit_mb * MEGABYTE - _OOM_ALLOCATION

    def remove(self) -> bool:
        """Remove it; False if a process in it has not ended yet."""
        return _remove_directory(self.directory)


class CgroupRoot:
    """The root group of this host, with all its other groups. Blocking; may raise OSError."""

    def __init__(self, location: CgroupLocation) -> None:
        """Create it at `location`, with a first group in it to check that memory can be bounded."""
        self.location = location
        interface = location.interface
        if interface.needs_delegation:
            _enable_memory_controller(location.directory)
        self._directory, self._lock = _create_locked(location.directory)
        self._numbers = itertools.count(1)
        try:
            if interface.needs_delegation:
                _enable_memory_controller(self._directory)
            self.zygotes = MemoryGroup.make(self._directory / "zygote", interface)
            with (self.zygotes.directory / interface.limits[0]).open("r+b"):
                pass
        except OSError:
            _remove_all(self._directory)
            os.close(self._lock)
            raise

    def new_group(self) -> MemoryGroup:
        """A group for one worker."""
        # Several threads may run this concurrently; each gets a number of its own.
        name = f"worker-{next(self._numbers)}"
        return MemoryGroup.make(self._directory / name, self.location.interface)

    def sweep(self) -> list[OSError]:
        """Remove the groups of hosts that have ended. Returns the failures.

        A busy group is left to the next host that opens: its processes are about to end.
        """
        failures = []
        for directory in self.location.directory.iterdir():
            if _OURS.fullmatch(directory.name):
                try:
                    _sweep(directory)
                except FileNotFoundError:  # another host has removed it already
                    continue
                except OSError as error:
                    failures.append(error)
        return failures

    def remove(self) -> bool:
        """Remove it and all groups in it; False if a process in it has not ended yet."""
        return _remove_all(self._directory)

    def release(self) -> None:
        """Release the lock: the next host removes what has not been removed."""
        os.close(self._lock)


def write(path: Path, value: str) -> None:
    """One write, which the kernel accepts or refuses. Never creates a file."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, value.encode())
    finally:
        os.close(descriptor)


def _enable_memory_controller(directory: Path) -> None:
    """Enable the memory controller for the children of a v2 group."""
    if "memory" not in (directory / "cgroup.controllers").read_text().split():
        raise OSError(errno.ENODEV, "it has no memory controller")
    switches = directory / "cgroup.subtree_control"
    if "memory" in switches.read_text().split():
        return
    try:
        write(switches, "+memory")
    except OSError as error:
        if error.errno == errno.EBUSY:
            raise OSError(error.errno, "processes are in it, so its groups can have none") from None
        raise


def _create_locked(parent: Path) -> tuple[Path, int]:
    """Create a directory and lock it. Tries again if another host's sweep removes it before."""
    for _ in range(_ATTEMPTS):
        directory = parent / f"caps-{secrets.token_hex(8)}"
        directory.mkdir()
        try:
            lock = _lock_directory(directory)
        except (FileNotFoundError, BlockingIOError):
            continue
        if directory.is_dir():
            return directory, lock
        os.close(lock)
    raise BlockingIOError(0, "other hosts keep removing new groups")


def _lock_directory(directory: Path) -> int:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _sweep(directory: Path) -> None:
    try:
        lock = _lock_directory(directory)
    except BlockingIOError:
        return  # its host is still running
    try:
        _remove_all(directory)
    finally:
        os.close(lock)


def _remove_all(directory: Path) -> bool:
    with suppress(FileNotFoundError):
        for entry in directory.iterdir():
            if entry.is_dir():
                _remove_directory(entry)
    return _remove_directory(directory)


def _remove_directory(directory: Path) -> bool:
    try:
        directory.rmdir()
    except FileNotFoundError:
        return True
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        return False
    return True


def parse_counters(text: str) -> dict[str, int]:
    """The counters of a file of names and numbers, one pair per line."""
    pairs = (line.split() for line in text.splitlines())
    return {name: int(count) for name, count in pairs}
