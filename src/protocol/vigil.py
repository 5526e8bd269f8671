"""(5) Waiting awake: whoever expects an answer within moments does not go to sleep over it.

To put a process to sleep and to wake it costs several times what a short answer costs, most of all
on a virtual machine, whose idle processors are given away. So both ends of a channel look out for
what is due for some hundred microseconds before they sleep, and give way to everybody else who
wants the processor meanwhile. Who looked out in vain does so less and less often: where answers
take long, hardly anything is spent on it.
"""

from __future__ import annotations

import os
import time

_MOST_MISSES = 6


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
        if time.perf_counter() < self._until:
            os.sched_yield()
            return True
        self._misses = min(self._misses + 1, _MOST_MISSES)
        self._naps = 2**self._misses - 1
        return False

    def pays(self) -> None:
        """What was due has come in time."""
        self._misses = 0
