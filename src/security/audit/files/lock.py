"""(8) The lock of the log: taken by every writer of every process, with a deadline.

The kernel's own waiting has no deadline, so a writer polls. A writer that syncs holds the log lock
nearly all the time, so a plain poll would hardly ever find it free. Writers therefore first take a
turnstile lock (`.line`, a file next to the log that only its writers can open); only its holder
polls the log lock, so the last holder cannot starve the others. (A writer that may not wait at all
tries the log lock alone.) A writer polls the turnstile more often the longer it waits. A turnstile
that does not become free, for example because its holder is stopped, is skipped after a time, and
the next waits for it are short until it becomes free again. No writer waits for the turnstile while
it holds a log lock, so there is no deadlock between the two.
"""

from __future__ import annotations

import fcntl
import os
import random
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from caps.protocol.disk.regular_files import CREATE_FLAGS
from caps.protocol.errors import AuditError

DEFAULT_LOCK_SECONDS: Final = 5.0
TURNSTILE: Final = ".line"
_EXCLUSIVE: Final = fcntl.LOCK_EX | fcntl.LOCK_NB
_MAX_TURNSTILE_PAUSE: Final = 0.01
_MIN_TURNSTILE_PAUSE: Final = 0.001
_LOG_PAUSE: Final = 0.001
# After a wait that failed, the next calls must not each wait that long again.
_RETRY_GRACE_SECONDS: Final = 0.02


class LogLock:
    """Takes the `flock` of a log file. Used by one thread at a time; `close` it."""

    def __init__(self, seconds: float, directory: Path) -> None:
        """`directory` is where the turnstile of the log is."""
        self._seconds = seconds
        self._log_seconds = seconds
        self._turnstile_seconds = seconds
        self._directory = directory
        self._turnstile: int | None = None

    def take(self, fd: int, path: Path, *, wait: bool) -> None:
        """Raises `AuditError` if others keep the lock; `BlockingIOError` if not `wait`."""
        try:
            if not wait:
                fcntl.flock(fd, _EXCLUSIVE)
            elif not self._take_if_free(fd):
                self._take_in_turn(fd, path)
        except BlockingIOError:
            raise
        except OSError as error:
            raise AuditError(f"audit log `{path}` cannot be locked: {error.strerror}") from error
        self._log_seconds = self._seconds

    def take_next(self, fd: int, path: Path, *, wait: bool) -> None:
        """`take` for a writer that holds another file of the log: it skips the turnstile."""
        if not wait:
            fcntl.flock(fd, _EXCLUSIVE)
        else:
            self._wait_for_log(fd, path)

    def close(self) -> None:
        """May be called again."""
        if self._turnstile is not None:
            os.close(self._turnstile)
            self._turnstile = None

    def _take_if_free(self, fd: int) -> bool:
        """Whether the log lock was free and no other writer waited for it."""
        if not self._pass_turnstile():
            return False
        try:
            return _try_lock(fd)
        finally:
            self._leave_turnstile()

    def _take_in_turn(self, fd: int, path: Path) -> None:
        passed = self._wait_for_turnstile()
        try:
            self._wait_for_log(fd, path)
        finally:
            if passed:
                self._leave_turnstile()

    def _wait_for_turnstile(self) -> bool:
        """False if the turnstile does not become free in time and is to be skipped."""
        deadline = time.monotonic() + self._turnstile_seconds
        pause = _MAX_TURNSTILE_PAUSE
        while time.monotonic() < deadline:
            # Random, so that no two writers always poll one right after the other.
            time.sleep(random.uniform(0, pause))  # noqa: S311 - no secret
            if self._pass_turnstile():
                self._turnstile_seconds = self._seconds
                return True
            pause = max(0.95 * pause, _MIN_TURNSTILE_PAUSE)
        self._turnstile_seconds = min(self._seconds, _RETRY_GRACE_SECONDS)
        return False

    def _wait_for_log(self, fd: int, path: Path) -> None:
        deadline = time.monotonic() + self._log_seconds
        while not _try_lock(fd):
            if time.monotonic() >= deadline:
                self._log_seconds = min(self._seconds, _RETRY_GRACE_SECONDS)
                raise AuditError(
                    f"audit log `{path}` cannot be written: another process holds the log"
                )
            time.sleep(_LOG_PAUSE)

    def _pass_turnstile(self) -> bool:
        """Whether the turnstile was free; always True where it cannot be used."""
        try:
            if self._turnstile is None:
                self._turnstile = os.open(self._directory / TURNSTILE, CREATE_FLAGS, 0o600)
            return _try_lock(self._turnstile)
        except OSError:
            return True

    def _leave_turnstile(self) -> None:
        if self._turnstile is not None:
            with suppress(OSError):  # where it cannot be locked
                fcntl.flock(self._turnstile, fcntl.LOCK_UN)


def _try_lock(fd: int) -> bool:
    try:
        fcntl.flock(fd, _EXCLUSIVE)
    except BlockingIOError:
        return False
    return True
