"""The most memory that a worker has held, seen from outside while it lives.

Linux tells it in /proc, which any process may read unless it is mounted otherwise (`hidepid`). The
file is opened when the worker is made, and an open file of /proc stays that of its process: the
number of the process may be another's later, the file never.
"""

from __future__ import annotations

import os
import signal

_FIELD = b"\nVmHWM:"
_STATUS_BYTES = 4096


class PeakMemory:
    """An open view of one process; `close` it."""

    def __init__(self, pidfd: int, pid: int) -> None:
        """`pid` is what the descriptor's process was last seen under."""
        self._status = _opened(pidfd, pid)

    def kilobytes(self) -> int | None:
        """None if it cannot be seen, or if the process has ended."""
        if self._status is None:
            return None
        try:
            text = os.pread(self._status, _STATUS_BYTES, 0)
        except OSError:
            return None
        _, found, rest = text.partition(_FIELD)
        return int(rest.split(None, 1)[0]) if found else None

    def close(self) -> None:
        if self._status is not None:
            os.close(self._status)
            self._status = None


def _opened(pidfd: int, pid: int) -> int | None:
    try:
        status = os.open(f"/proc/{pid}/status", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        signal.pidfd_send_signal(pidfd, 0)  # it still lives, so that the number was its own
    except OSError:
        os.close(status)
        return None
    return status
