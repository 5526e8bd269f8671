"""(4) The kernel limits that a worker sets on itself; the host enforces its own in addition.

Runs in the worker, after confinement and before the code. No limit is raised above the hard limit
that the host was started with: the kernel would refuse that.
"""

from __future__ import annotations

import resource
from collections.abc import Callable
from math import ceil
from resource import RLIM_INFINITY, RLIMIT_AS, RLIMIT_CPU, getrlimit, setrlimit
from time import process_time
from typing import Protocol

from caps.protocol.messages import INTERRUPT_GRACE_SECONDS, WorkerLimits

# What the code leaves for the report of its result: without it, a worker that is out of memory
# could not even say so. The interpreter takes memory for small objects in pieces of 1 MiB.
_RESERVE_BYTES = 4 * 1024 * 1024

# The limit with the reserve, made in advance: when it is needed, nothing can be allocated.
_whole: tuple[int, int] | None = None


# What the real modules of this worker have mapped; the zygote measures it before it forks.
_modules_bytes = 0


SetLimit = Callable[[int, tuple[int, int]], None]


class ApplyLimits(Protocol):
    """The form of `limit_resources`; `warm_up_limits` takes its place in a warm-up."""

    def __call__(self, limits: WorkerLimits, *, last: bool = True) -> None: ...


def mapped_bytes() -> int:
    """What this process has mapped. Only before confinement: it reads a file."""
    with open("/proc/self/statm", "rb") as file:  # noqa: PTH123 - no path is needed
        return int(file.read().split()[0]) * resource.getpagesize()


def allow_for_modules(mapped: int) -> None:
    """Let workers have this many bytes beyond `memory_mb`: shared with the zygote, and not used by
    their code. Called in the zygote."""
    global _modules_bytes  # noqa: PLW0603 - the same for all workers of this zygote
    _modules_bytes = max(0, mapped)


def limit_resources(
    limits: WorkerLimits, *, last: bool = True, set_limit: SetLimit = setrlimit
) -> None:
    """Apply `limits` to this process; `last` says that no other code will run in it."""
    seconds = _cpu_seconds(limits.cpu_ms)
    inherited = getrlimit(RLIMIT_CPU)[1]
    # A hard limit can never be raised again, so it is not changed if more cells may follow.
    hard = _lower(seconds + 1, inherited) if last else inherited
    set_limit(RLIMIT_CPU, (_lower(seconds, inherited), hard))
    # Limits what is mapped. The used memory is limited by the cgroup of this process, if the host
    # has created one. In practice this limit is reached first, and raises MemoryError.
    wanted = limits.memory_mb * 1024 * 1024 + _modules_bytes
    max_bytes = within_hard_limit(RLIMIT_AS, wanted)
    global _whole  # noqa: PLW0603 - the limit is the process's own
    _whole = (max_bytes, max_bytes) if set_limit is setrlimit else None
    set_limit(RLIMIT_AS, (max(0, max_bytes - _RESERVE_BYTES), max_bytes))


def use_memory_reserve() -> None:
    """The code has ended: its result, or its error, may take what the code had to leave."""
    if _whole is not None:  # None in a warm-up
        setrlimit(RLIMIT_AS, _whole)


def within_hard_limit(kind: int, limit: int) -> int:
    """`limit`, or the hard limit of this process if that is lower."""
    return _lower(limit, getrlimit(kind)[1])


def _lower(limit: int, hard: int) -> int:
    return limit if hard == RLIM_INFINITY or limit < hard else hard


def warm_up_limits(limits: WorkerLimits, *, last: bool = True) -> None:
    """Make the same calls, and change nothing."""
    limit_resources(limits, last=last, set_limit=_keep_limit)


def _keep_limit(kind: int, _wanted: tuple[int, int]) -> None:
    setrlimit(kind, getrlimit(kind))


def _cpu_seconds(cpu_ms: int) -> int:
    # Whole seconds since the start of the process: SIGXCPU at the soft limit, SIGKILL at the hard.
    # The host interrupts code that is over its limit, which then has some time to stop.
    return ceil(process_time() + cpu_ms / 1000 + INTERRUPT_GRACE_SECONDS)
