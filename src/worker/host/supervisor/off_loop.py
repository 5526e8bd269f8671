"""Where the host works on large messages: a thread that no provider can take.

One at a time in each event loop. The work is Python code, so that a second thread would not finish
earlier, and the event loop would have to wait for two threads instead of one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, TypeVarTuple

import anyio
import anyio.lowlevel
import anyio.to_thread

Arguments = TypeVarTuple("Arguments")
T = TypeVar("T")

# Checking and hashing a message of this size takes a few milliseconds even in the worst case.
LARGE_BYTES = 4 * 1024

_limiters: anyio.lowlevel.RunVar[anyio.CapacityLimiter] = anyio.lowlevel.RunVar("caps_off_loop")


async def run_off_loop(work: Callable[[*Arguments], T], *arguments: *Arguments) -> T:
    """What `work` returns. It may change only what it is given: it runs on when the caller is
    cancelled."""
    limiter = _limiters.get(None)
    if limiter is None:
        limiter = anyio.CapacityLimiter(1)
        _limiters.set(limiter)
    return await anyio.to_thread.run_sync(work, *arguments, abandon_on_cancel=True, limiter=limiter)
