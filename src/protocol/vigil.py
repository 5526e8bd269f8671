"""(5) Waiting awake: whoever expects an answer within moments does not go to sleep over it.

To put a process to sleep and to wake it costs several times what a short answer costs, most of all
on a virtual machine, whose idle processors are given away. So both ends of a channel look out for
what is due for some hundred microseconds before they sleep. Between looks they offer the processor
to everybody else, and stop if anybody takes it: on a busy machine there is better use for it than
waiting. Who looked out in vain does so less and less often, so that where answers take long, or
processors are scarce, hardly anything is spent on it.
"""

from __future__ import annotations

import os
import time

_MOST_MISSES = 6
# An offer that nobody takes is back much sooner than this.
_TAKEN_SECONDS = 0.00002


class Vigil:
    """Looks out for so many seconds at a time, as long as that proves worth it."""

    __slots__ = ("_misses", "_naps", "_seconds", "_until")

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._misses = 0
        self._naps = 0
        self._until = 0.0

    def begins(self) -> bool:
        """Whether it is worth it this time; then ask `goes_on` after each look."""
        if self._naps:
            self._naps -= 1
            return False
        self._until = time.perf_counter() + self._seconds
        return True

    def goes_on(self) -> bool:
        """Whether to look once more, now that everybody else had a chance to run."""
        now = time.perf_counter()
        if now >= self._until:
            self._miss()
            return False
        os.sched_yield()
        if time.perf_counter() - now > _TAKEN_SECONDS:
            self._until = 0.0  # one more look, and no more
        return True

    def pays(self) -> None:
        """What was due has come in time; which is no merit where others wanted the processor."""
        if self._until:
            self._misses = 0
        else:
            self._miss()

    def _miss(self) -> None:
        self._misses = min(self._misses + 1, _MOST_MISSES)
        self._naps = 2**self._misses - 1
