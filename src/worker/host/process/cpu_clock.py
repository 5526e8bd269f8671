"""How much CPU time a worker has used, read from outside.

Linux gives every process a clock of its CPU time that any other process may read. Its number is
made from the process id (as glibc's `clock_getcpuclockid` does), and a process id may be given to
another process once its owner is reaped. So a reading counts only if the process descriptor, which
is never given to another, still finds its process *after* the reading.
"""

from __future__ import annotations

import signal
import time

import msgspec

_SCHEDULED_TIME_OF_A_PROCESS = 2  # CPUCLOCK_SCHED; the bit for a single thread is not set


class CpuClock(msgspec.Struct, frozen=True):
    """The CPU clock of the process behind a descriptor, which the caller keeps open."""

    pidfd: int
    clock: int

    @classmethod
    def of(cls, pidfd: int, pid: int) -> CpuClock:
        """`pid` is what the descriptor's process was last seen under."""
        return cls(pidfd, (~pid << 3) | _SCHEDULED_TIME_OF_A_PROCESS)

    def used_us(self) -> int | None:
        """Microseconds of CPU time so far; None once the process is reaped."""
        try:
            used = time.clock_gettime_ns(self.clock)
            signal.pidfd_send_signal(self.pidfd, 0)  # nothing is sent; it fails if nobody is there
        except OSError:
            return None
        return used // 1000
