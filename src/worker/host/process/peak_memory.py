"""The peak memory of a worker, read from outside while it lives.

Linux shows it in /proc, which any process may read unless it is mounted with `hidepid`. The file is
opened when the worker is started. An open file of /proc always refers to the same process, while
the process id may be reused later.
"""

from __future__ import annotations

import os
import signal

_FIELD = b"\nVmHWM:"
_STATUS_BYTES = 4096


class PeakMemory:
    """An open status file of one process; the caller has to `close` it."""

    def __init__(self, pidfd: int, pid: int) -> None:
        """`pid` is the last known process id of the pidfd."""
        self._status = _open_status(pidfd, pid)

    def kilobytes(self) -> int | None:
        """The peak so far; None if it cannot be read, or if the process has ended."""
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


def _open_status(pidfd: int, pid: int) -> int | None:
    try:
        status = os.open(f"/proc/{pid}/status", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        signal.pidfd_send_signal(pidfd, 0)  # it is not reaped, so the process id was still its own
    except OSError:
        os.close(status)
        return None
    return status
