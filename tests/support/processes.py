"""Processes as `/proc` shows them: who descends from whom, waiting for an end, killing, limits."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def children(parent: int) -> list[int]:
    """The processes whose parent is `parent`."""
    return [pid for pid, (_, above) in _all_processes().items() if above == parent]


def descendants(root: int) -> dict[int, str]:
    """The state of every process below `root`."""
    all_processes, found, layer = _all_processes(), dict[int, str](), {root}
    while layer:
        layer = {pid for pid, (_, parent) in all_processes.items() if parent in layer}
        found |= {pid: all_processes[pid][0] for pid in layer}
    return found


def _all_processes() -> dict[int, tuple[str, int]]:
    """State and parent of every process."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            found[int(entry.name)] = (fields[0], int(fields[1]))
    return found


@contextmanager
def open_pidfds(*pids: int) -> Iterator[list[int]]:
    """Process descriptors, without those of processes that have ended already."""
    descriptors: list[int] = []
    for pid in pids:
        with suppress(ProcessLookupError):
            descriptors.append(os.pidfd_open(pid))
    try:
        yield descriptors
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def has_ended(pidfd: int, *, within_seconds: float = 0) -> bool:
    """Whether the process has ended; waits up to `within_seconds` for that."""
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(within_seconds * 1000))


def pid_of(pidfd: int) -> int:
    """The process id of a descriptor; -1 if it has been reaped."""
    info = Path(f"/proc/self/fdinfo/{pidfd}").read_text()
    return next(int(line.split()[1]) for line in info.splitlines() if line.startswith("Pid:"))


def kill(pidfd: int) -> None:
    """SIGKILL."""
    signal.pidfd_send_signal(pidfd, signal.SIGKILL)


@contextmanager
def lowered_limit(pid: int, kind: int, most: int) -> Iterator[None]:
    """Lower a resource limit of a live process."""
    before = _set_limit(pid, kind, most)
    try:
        yield
    finally:
        _set_limit(pid, kind, before)


# Without CAP_SYS_RESOURCE only the process's own user may do this, not even root.
_LIMITER = """
import os, resource, sys
pid, kind, most, user = map(int, sys.argv[1:])
if os.geteuid() == 0:
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
soft, hard = resource.prlimit(pid, kind)
resource.prlimit(pid, kind, (most, hard))
print(soft)
"""


def _set_limit(pid: int, kind: int, most: int) -> int:
    """Set the soft limit and return the previous one."""
    status = Path(f"/proc/{pid}/status").read_text()
    user = next(line.split()[1] for line in status.splitlines() if line.startswith("Uid:"))
    command = (sys.executable, "-c", _LIMITER, str(pid), str(kind), str(most), user)
    return int(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
