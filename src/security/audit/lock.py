"""(8) The lock of the log: taken by every writer of every process, and waited for with a deadline.

The kernel's own waiting has no deadline, so this asks again and again.
"""

from __future__ import annotations

import fcntl
import time
from pathlib import Path
from typing import Final

from caps.protocol.errors import AuditError

DEFAULT_LOCK_SECONDS: Final = 5.0
_EXCLUSIVE: Final = fcntl.LOCK_EX | fcntl.LOCK_NB
_FIRST_PAUSE: Final = 0.0005
_LONGEST_PAUSE: Final = 0.02
# Once waiting was in vain, calls one after the other must not each wait as long again.
_PATIENCE_AFTER_FAILURE: Final = 0.02


class LogLock:
    """How to take the `flock` of a log file."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._patience = seconds

    def take(self, fd: int, path: Path, *, wait: bool) -> None:
        """Raises `AuditError` if others keep it; `BlockingIOError` if not `wait`."""
        try:
            fcntl.flock(fd, _EXCLUSIVE)
        except BlockingIOError:
            if not wait:
                raise
            self._wait(fd, path, time.monotonic() + self._patience)
        self._patience = self._seconds

    def _wait(self, fd: int, path: Path, deadline: float) -> None:
        pause = _FIRST_PAUSE
        while time.monotonic() < deadline:
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
            try:
                return fcntl.flock(fd, _EXCLUSIVE)
            except BlockingIOError:
                continue
        self._patience = min(self._seconds, _PATIENCE_AFTER_FAILURE)
        raise AuditError(f"audit log `{path}` cannot be written: another process holds the log")
