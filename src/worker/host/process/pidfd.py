"""The process id of a pidfd, in the pid namespace of this process."""

from __future__ import annotations

import errno
import os


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
