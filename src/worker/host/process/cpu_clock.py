"""The CPU time that a worker has used, read from outside.

Linux has a CPU clock for every process that any other process may read. The clock id is computed
from the process id (as glibc's `clock_getcpuclockid` does), and a process id may be reused once its
process is reaped. So a reading is valid only if the pidfd, which always refers to the same process,
still finds it *after* the reading.
"""

from __future__ import annotations

import signal
import time

import msgspec

_SCHEDULED_TIME_OF_A_PROCESS = 2  # CPUCLOCK_SCHED; the bit for a single thread is not set


class CpuClock(msgspec.Struct, frozen=True):
    """The CPU clock of the process of a pidfd, which the caller keeps open."""

    pidfd: int
    clock: int

    @classmethod
    def of(cls, pidfd: int, pid: int) -> CpuClock:
        """`pid` is the last known process id of the pidfd."""
        return cls(pidfd, (~pid << 3) | _SCHEDULED_TIME_OF_A_PROCESS)

    def used_us(self) -> int | None:
        """Microseconds of CPU time so far; None once the process is reaped."""
        try:
            used = time.clock_gettime_ns(self.clock)
            signal.pidfd_send_signal(self.pidfd, 0)  # sends nothing; fails if the process is reaped
        except OSError:
            return None
        return used // 1000
