"""`limits.cpu_ms`, held from outside to about ten milliseconds.

The kernel's own limit (RLIMIT_CPU, which the worker sets on itself) counts whole seconds and stays
as a backstop. Here the host looks at the worker's CPU clock. A worker has one thread, and the
filter lets it have no more, so that it cannot use more CPU time than time passes: with 300 ms left
there is nothing to see for 300 ms. Most executions are over before the first look.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio

from caps.protocol.errors import LimitExceededError

# Code that has almost nothing left and waits would otherwise be looked at without end.
_SHORTEST_SLEEP_US = 10_000


async def is_used_up(cpu_us: Callable[[], int | None], end_us: int) -> bool:
    """True once the clock `cpu_us` has come to `end_us`; False if its process is gone before."""
    while (used_us := cpu_us()) is not None and used_us < end_us:  # noqa: ASYNC110 - no event is
        # there to wait for: the kernel tells nobody how far the clock of another process is.
        await anyio.sleep(max(end_us - used_us, _SHORTEST_SLEEP_US) / 1_000_000)
    return used_us is not None


def cpu_limit_reached(allowed_ms: int, **details: Any) -> LimitExceededError:
    """The error of both limits, the host's and the kernel's."""
    return LimitExceededError(
        f"the code used more than {allowed_ms} ms of cpu; raise `limits.cpu_ms` if it may",
        limit="cpu_ms",
        allowed=allowed_ms,
        **details,
    )
