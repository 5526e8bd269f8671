"""Enforces `limits.cpu_ms` from outside the worker, to about ten milliseconds.

The kernel's own limit (RLIMIT_CPU, which the worker sets on itself) counts whole seconds and stays
as a backstop. Here the host polls the worker's CPU clock. A worker has one thread, and the seccomp
filter allows no more, so it cannot use more CPU time than wall time: with 300 ms left, the next
poll is due in 300 ms. Most executions end before the first poll.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio

from caps.protocol.errors import LimitExceededError

# Code that has almost no CPU time left and is waiting would otherwise be polled continuously.
_MIN_SLEEP_US = 10_000


async def wait_until_used_up(cpu_us: Callable[[], int | None], end_us: int) -> bool:
    """Return True when the clock `cpu_us` reaches `end_us`; False if the process exits before."""
    while (used_us := cpu_us()) is not None and used_us < end_us:  # noqa: ASYNC110 - there is no
        # event to wait for: the kernel does not signal the progress of another process's clock.
        await anyio.sleep(max(end_us - used_us, _MIN_SLEEP_US) / 1_000_000)
    return used_us is not None


def cpu_limit_reached(allowed_ms: int, **details: Any) -> LimitExceededError:
    """The error for both limits, the host's and the kernel's."""
    return LimitExceededError(
        f"the code used more than {allowed_ms} ms of cpu; raise `limits.cpu_ms` if it may",
        limit="cpu_ms",
        allowed=allowed_ms,
        **details,
    )
