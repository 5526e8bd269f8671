"""What a pidfd tells of a process: its id in the pid namespace of this process, and its end."""

from __future__ import annotations

import errno
import os
import select


def process_id(pidfd: int) -> int:
    """The process id. Raises ProcessLookupError once it is reaped, OSError if it is not visible."""
    info = os.open(f"/proc/self/fdinfo/{pidfd}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        lines = os.read(info, 4096).splitlines()
    finally:
        os.close(info)
    for line in lines:
        if line.startswith(b"Pid:"):
            number = int(line[4:])
            if number > 0:
                return number
            if number < 0:
                raise ProcessLookupError
    # 0 is a process that is not visible in this pid namespace; a CPU clock or a cgroup file would
    # take 0 for the calling process.
    raise OSError(errno.ESRCH, "its process id is not visible")


def has_ended(child: int, seconds: float) -> bool:
    """Whether a child process ends within this time. It is not reaped.

    `subprocess` would sleep for milliseconds, and look again.
    """
    pidfd = os.pidfd_open(child)
    try:
        poll = select.poll()
        poll.register(pidfd, select.POLLIN)
        return bool(poll.poll(seconds * 1000))
    finally:
        os.close(pidfd)
