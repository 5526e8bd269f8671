"""A memory group that waits for a worker, and is made fit for another one when that has ended.

Making and removing a group costs much more than checking and resetting one, and keeps threads of
the kernel busy. So a few groups keep their files open and are used again. Invariants:

- No worker enters a group that another process is in, or can still enter. So a group is renewed
  only if its worker was reaped and the kernel lists no process in it. A group whose order to fork
  was given up is never renewed: its worker may still be forked, and enter.
- What a group counts is its worker's. The peak is reset, what is still charged is little, and a
  group in which the OOM killer killed anything is not renewed.
"""

from __future__ import annotations

import logging
import os
from contextlib import ExitStack, suppress

from caps.worker.host.memory.cgroup import MEGABYTE, MemoryGroup, parse_counters

logger = logging.getLogger(__name__)

# The kernel frees some memory of an ended process later, and each processor keeps a few charges.
_MOST_LEFT_BYTES = 2 * MEGABYTE
_READ_BYTES = 4096


class PreparedGroup:
    """An empty group, and the open file descriptor through which one process may enter it."""

    def __init__(self, group: MemoryGroup, *, renewable: bool = False) -> None:
        """Raises OSError."""
        self.group = group
        self.entry_fd = group.open_entry()
        self._renewal = None
        if renewable:
            with suppress(OSError):  # the kernel lacks a file, or the host has too many open
                self._renewal = _Renewal(group)

    @property
    def renewable(self) -> bool:
        """Whether it keeps the files through which it is renewed."""
        return self._renewal is not None

    def renew(self) -> bool:
        """Make it fit for another worker; its last one was reaped. False if it must be removed."""
        try:
            return self._renewal is not None and self._renewal.perform()
        except (OSError, ValueError) as error:  # then it is removed, and another one is made
            logger.debug("the group %s is not used again: %s", self.group.directory, error)
            return False

    def close(self) -> None:
        """Close its file descriptors. The group itself stays. Called once."""
        os.close(self.entry_fd)
        if self._renewal is not None:
            self._renewal.close()


class _Renewal:
    """The open files of one group through which it is checked and reset."""

    def __init__(self, group: MemoryGroup) -> None:
        interface = group.interface
        self._processes = str(group.directory / "cgroup.procs")
        with ExitStack() as undo:
            self._files = undo

            def opened(name: str, flags: int = os.O_RDONLY) -> int:
                descriptor = os.open(group.directory / name, flags | os.O_CLOEXEC)
                undo.callback(os.close, descriptor)
                return descriptor

            self._oom = opened(interface.oom_file)
            self._usage = opened(interface.usage_file)
            self._peaks = []
            for name in interface.peak_files:
                with suppress(FileNotFoundError):  # a kernel without swap does not have its file
                    self._peaks.append(opened(name, os.O_WRONLY))
            self._files = undo.pop_all()

    def perform(self) -> bool:
        """False if something is left of its last worker."""
        # Opened each time: to a file that stays open, v1 shows the list of up to a second ago.
        if self._read_processes():
            return False
        if parse_counters(os.pread(self._oom, _READ_BYTES, 0).decode()).get("oom_kill"):
            return False
        if int(os.pread(self._usage, _READ_BYTES, 0)) > _MOST_LEFT_BYTES:
            return False
        for peak in self._peaks:
            os.pwrite(peak, b"0", 0)
        return True

    def _read_processes(self) -> bytes:
        # A `Path` would ask for the size and the position first, which costs more than the rest.
        descriptor = os.open(self._processes, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.read(descriptor, _READ_BYTES)
        finally:
            os.close(descriptor)

    def close(self) -> None:
        self._files.close()
