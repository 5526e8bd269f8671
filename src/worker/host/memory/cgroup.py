"""Memory groups: each worker in a cgroup of its own, so that the kernel counts what it uses.

Two bounds hold a worker, both at `limits.memory_mb`. RLIMIT_AS, which the worker sets itself,
counts what it maps: the kernel refuses a mapping and Python raises MemoryError, which the code can
catch. The group, which the host sets, counts what is used, the kernel's memory on the worker's
behalf included, and its answer is SIGKILL. What is used is less than what is mapped (the
interpreter's shared pages are mapped and charged to the zygote), so it is RLIMIT_AS that ordinary
code meets; the group holds whatever gets around it, and does not ask the worker to do anything.

A host has one group for all, `caps-<token>`, locked (flock) for as long as the host lives; in it
there is one for the zygote, without a limit, and one for each worker. A group whose lock is free
was left by a host that was killed, and is removed when the next one opens.

Making, entering and removing take from microseconds to a tenth of a second, as the kernel sees fit,
so they happen in a thread, while the worker is a spare or gone. A failure costs a worker its group,
never the execution and never RLIMIT_AS; it is logged and counted in the layer's detail.
"""

from __future__ import annotations

import errno
import fcntl
import itertools
import os
import re
import resource
import secrets
from contextlib import suppress
from pathlib import Path

import msgspec

from caps.worker.host.memory.cgroup_discovery import Interface, Place
from caps.worker.host.process.worker import OutOfMemory

_OURS = re.compile(r"caps-[0-9a-f]{16}")
_ATTEMPTS = 8
_MEGABYTE = 1024 * 1024
# The largest allocation that the kernel kills for; one that is larger just fails.
_AT_ONCE = 8 * resource.getpagesize()


class MemoryGroup(msgspec.Struct):
    """A group without children. Blocking; every method may raise OSError."""

    directory: Path
    interface: Interface
    # Megabytes, once they are written.
    limited_to: int | None = None

    @classmethod
    def make(cls, directory: Path, interface: Interface) -> MemoryGroup:
        """A new group, without a limit."""
        directory.mkdir()
        for name, value in interface.at_birth:
            with suppress(FileNotFoundError):  # a kernel without swap has nothing to say of it
                write(directory / name, value)
        return cls(directory, interface)

    def admit(self, pid: int) -> None:
        """Move a process here. What it used before stays charged where it was."""
        write(self.directory / "cgroup.procs", str(pid))

    def open_entrance(self) -> int:
        """A descriptor through which a process enters by itself, for the caller to close."""
        return os.open(self.directory / self.interface.entrance, os.O_WRONLY | os.O_CLOEXEC)

    def limit(self, megabytes: int) -> None:
        """Bound what the processes in it use, together."""
        if megabytes == self.limited_to:
            return
        raised = self.limited_to is not None and megabytes > self.limited_to
        self.limited_to = None
        _required, *others = self.interface.limits
        size = str(megabytes * _MEGABYTE)
        for name in reversed(self.interface.limits) if raised else self.interface.limits:
            try:
                write(self.directory / name, size)
            except FileNotFoundError:
                if name not in others or not self.directory.is_dir():
                    raise
        self.limited_to = megabytes

    def out_of_memory(self) -> OutOfMemory | None:
        """Whether a process in it was killed for want of memory, and by whose limit."""
        counted = _counters(self.directory / self.interface.kills)
        if not counted.get("oom_kill"):
            return None
        met = counted.get(self.interface.own_limit, 0) > 0 or self._was_full()
        return OutOfMemory.OWN_LIMIT if met else OutOfMemory.ELSEWHERE

    def _was_full(self) -> bool:
        """Whether it ever held as much as it may, but for less than the kernel asks for at once."""
        if self.limited_to is None:
            return False
        most = 0
        for name in self.interface.most_used:
            with suppress(FileNotFoundError):
                most = max(most, int((self.directory / name).read_text()))
        return most > self.limited_to * _MEGABYTE - _AT_ONCE

    def remove(self) -> bool:
        """Remove it; False if a process in it is not gone yet."""
        return _removed(self.directory)


class Home:
    """The group of this host, which holds all its others. Blocking; anything may raise OSError."""

    def __init__(self, place: Place) -> None:
        """Make it at `place`, with a first group in it that shows that memory can be bounded."""
        self.place = place
        interface = place.interface
        if interface.hands_on:
            _hand_on(place.directory)
        self._directory, self._lock = _leased(place.directory)
        self._numbers = itertools.count(1)
        try:
            if interface.hands_on:
                _hand_on(self._directory)
            self.zygotes = MemoryGroup.make(self._directory / "zygote", interface)
            with (self.zygotes.directory / interface.limits[0]).open("r+b"):
                pass
        except OSError:
            _remove_all(self._directory)
            os.close(self._lock)
            raise

    def new_group(self) -> MemoryGroup:
        """A group for one worker."""
        # Several threads may be here at once; each gets a number of its own.
        name = f"worker-{next(self._numbers)}"
        return MemoryGroup.make(self._directory / name, self.place.interface)

    def sweep(self) -> list[OSError]:
        """Remove what hosts left that are gone, and tell what could not be removed.

        What is busy is left to the next one who opens: its processes are about to end.
        """
        failures = []
        for directory in self.place.directory.iterdir():
            if _OURS.fullmatch(directory.name):
                try:
                    _sweep(directory)
                except FileNotFoundError:  # another host was quicker
                    continue
                except OSError as error:
                    failures.append(error)
        return failures

    def remove(self) -> bool:
        """Remove it and all in it; False if a process in it is not gone yet."""
        return _remove_all(self._directory)

    def release(self) -> None:
        """Give up the lock: what has not been removed is the next host's to remove."""
        os.close(self._lock)


def write(path: Path, value: str) -> None:
    """One write, which the kernel takes or refuses. Never makes a file."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, value.encode())
    finally:
        os.close(descriptor)


def _hand_on(directory: Path) -> None:
    """Let the children of a v2 group have the memory controller."""
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


def _leased(parent: Path) -> tuple[Path, int]:
    """A new directory and its lock. A sweep that takes it for an abandoned one makes us go on."""
    for _ in range(_ATTEMPTS):
        directory = parent / f"caps-{secrets.token_hex(8)}"
        directory.mkdir()
        try:
            lock = _locked(directory)
        except (FileNotFoundError, BlockingIOError):
            continue
        if directory.is_dir():
            return directory, lock
        os.close(lock)
    raise BlockingIOError(0, "other hosts keep removing new groups")


def _locked(directory: Path) -> int:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _sweep(directory: Path) -> None:
    try:
        lock = _locked(directory)
    except BlockingIOError:
        return  # its host lives
    try:
        _remove_all(directory)
    finally:
        os.close(lock)


def _remove_all(directory: Path) -> bool:
    with suppress(FileNotFoundError):
        for entry in directory.iterdir():
            if entry.is_dir():
                _removed(entry)
    return _removed(directory)


def _removed(directory: Path) -> bool:
    try:
        directory.rmdir()
    except FileNotFoundError:
        return True
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        return False
    return True


def _counters(path: Path) -> dict[str, int]:
    """A file of names and numbers, one pair a line."""
    pairs = (line.split() for line in path.read_text().splitlines())
    return {name: int(count) for name, count in pairs}
