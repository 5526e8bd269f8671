"""Which process a descriptor is of, as this process sees it."""

from __future__ import annotations

import errno
import os


def process_id(pidfd: int) -> int:
    """Its number. ProcessLookupError once it is reaped, OSError if it cannot be told."""
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
    # 0 is a process that this pid namespace cannot see; a clock or a group's file would take it
    # for ourselves.
    raise OSError(errno.ESRCH, "its process number cannot be told")
