"""(4) The kernel's limits that a worker sets on itself; the host enforces its own beside them.

Runs in the worker, after confinement and before the code.
"""

from __future__ import annotations

import math
import resource
import time

from caps.protocol.messages import WorkerLimits


def limit_resources(limits: WorkerLimits, *, last: bool = True) -> None:
    """Hold this process to `limits`; `last` says that no other code will run in it."""
    seconds = _cpu_seconds(limits.cpu_ms)
    # A hard limit can never be raised again, so that further cells leave it where it is.
    hard = seconds + 1 if last else resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, hard))
    # What is mapped. What is used is counted by the group that the host has put this process in,
    # where there is one; this bound is the lower of the two in practice, and raises MemoryError.
    most = limits.memory_mb * 1024 * 1024
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def rehearse_limits(limits: WorkerLimits) -> None:
    """Go through the same, and change nothing."""
    _cpu_seconds(limits.cpu_ms)
    for kind in (resource.RLIMIT_CPU, resource.RLIMIT_AS):
        resource.setrlimit(kind, resource.getrlimit(kind))


def _cpu_seconds(cpu_ms: int) -> int:
    # Whole seconds, counted from the start of the process; SIGXCPU at the first, SIGKILL after it.
    return math.ceil(time.process_time() + cpu_ms / 1000)
