"""(8) The lock of the log: taken by every writer of every process, and waited for with a deadline.

The kernel's own waiting has no deadline, so this asks again and again. A writer that syncs holds
the lock nearly all the time, and who only asks now and then would hardly ever find it free. So
there is a line before it, which is another lock, on a file beside the log that only its writers can
open: who finds the log taken waits for the line, and only the first in line asks for the log; the
one that just let it go is not let past. (Who may not wait at all asks for the log alone.) Who waits
for the line asks the oftener the longer it waits; a line that does not move, as when its first is
stopped, is passed after a time, and then not waited for as long again until it moves. Nobody waits
for the line while they hold a log, so the two never wait for each other.
"""

from __future__ import annotations

import fcntl
import os
import random
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from caps.protocol.errors import AuditError

DEFAULT_LOCK_SECONDS: Final = 5.0
LINE: Final = ".line"
_LINE_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
_EXCLUSIVE: Final = fcntl.LOCK_EX | fcntl.LOCK_NB
_PAUSE_IN_LINE: Final = 0.01
_SHORTEST_PAUSE_IN_LINE: Final = 0.001
_PAUSE_OF_THE_FIRST: Final = 0.001
# Once waiting was in vain, calls one after the other must not each wait as long again.
_PATIENCE_AFTER_FAILURE: Final = 0.02


class LogLock:
    """How to take the `flock` of a log file. Used by one thread at a time; `close` it."""

    def __init__(self, seconds: float, directory: Path) -> None:
        """`directory` is where the writers of the log stand in line."""
        self._seconds = seconds
        # With the log, and with the line before it.
        self._patience = seconds
        self._patience_in_line = seconds
        self._directory = directory
        self._line: int | None = None

    def take(self, fd: int, path: Path, *, wait: bool) -> None:
        """Raises `AuditError` if others keep it; `BlockingIOError` if not `wait`."""
        try:
            if not wait:
                fcntl.flock(fd, _EXCLUSIVE)
            elif not self._taken_at_once(fd):
                self._take_in_turn(fd, path)
        except BlockingIOError:
            raise
        except OSError as error:
            raise AuditError(f"audit log `{path}` cannot be locked: {error.strerror}") from error
        self._patience = self._seconds

    def take_too(self, fd: int, path: Path, *, wait: bool) -> None:
        """`take` another file of the log by one who holds one, and so must not stand in line."""
        if not wait:
            fcntl.flock(fd, _EXCLUSIVE)
        else:
            self._wait_for_the_log(fd, path, time.monotonic() + self._patience)

    def close(self) -> None:
        """May be repeated."""
        if self._line is not None:
            os.close(self._line)
            self._line = None

    def _taken_at_once(self, fd: int) -> bool:
        """Whether nobody had it and nobody waited for it."""
        if not self._first_in_line():
            return False
        try:
            return _locked(fd)
        finally:
            self._leave_the_line()

    def _take_in_turn(self, fd: int, path: Path) -> None:
        first = self._has_come_first()
        try:
            self._wait_for_the_log(fd, path, time.monotonic() + self._patience)
        finally:
            if first:
                self._leave_the_line()

    def _has_come_first(self) -> bool:
        """Waits for it; False if the line does not move, and is to be passed."""
        deadline = time.monotonic() + self._patience_in_line
        pause = _PAUSE_IN_LINE
        while time.monotonic() < deadline:
            # At random: no two may always ask one after the other.
            time.sleep(random.uniform(0, pause))  # noqa: S311 - no secret
            if self._first_in_line():
                self._patience_in_line = self._seconds
                return True
            pause = max(0.95 * pause, _SHORTEST_PAUSE_IN_LINE)
        self._patience_in_line = min(self._seconds, _PATIENCE_AFTER_FAILURE)
        return False

    def _wait_for_the_log(self, fd: int, path: Path, deadline: float) -> None:
        while not _locked(fd):
            if time.monotonic() >= deadline:
                self._patience = min(self._seconds, _PATIENCE_AFTER_FAILURE)
                raise AuditError(
                    f"audit log `{path}` cannot be written: another process holds the log"
                )
            time.sleep(_PAUSE_OF_THE_FIRST)

    def _first_in_line(self) -> bool:
        """Always, where there can be no line: who gets the log is then a matter of luck."""
        try:
            if self._line is None:
                self._line = os.open(self._directory / LINE, _LINE_FLAGS, 0o600)
            return _locked(self._line)
        except OSError:
            return True

    def _leave_the_line(self) -> None:
        if self._line is not None:
            with suppress(OSError):  # where it cannot be locked
                fcntl.flock(self._line, fcntl.LOCK_UN)


def _locked(fd: int) -> bool:
    try:
        fcntl.flock(fd, _EXCLUSIVE)
    except BlockingIOError:
        return False
    return True
