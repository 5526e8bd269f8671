"""A clock for the loop of user space that moves only when the loop is idle, so no test waits."""

from __future__ import annotations


class LoopStuckError(AssertionError):
    """Nothing is left that could wake the loop."""


class IdleClock:
    """Has `monotonic` like the module `time`, and `idle` for the loop to wait with."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now
        self.waits: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def idle(self, timeout: float | None) -> None:
        """Let `timeout` seconds pass."""
        if timeout is None:
            raise LoopStuckError
        self.waits.append(timeout)
        self.now += timeout
