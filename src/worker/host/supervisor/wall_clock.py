"""The wall clock of one execution. It can be paused while the execution waits for an outside party.

The supervisor waits within the scope of `start` while the code runs. The broker pauses the clock
while a call waits for its approval. `paused_s` is the total pause, so that the broker can bound it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager

import anyio

from caps.protocol.errors import LimitExceededError


class WallClock:
    """Counts down while the code runs. Used from one event loop."""

    # Most executions change nothing of what the class says.
    _scope: anyio.CancelScope | None = None
    _remaining_s = math.inf
    _pauses = 0
    _total_paused_s = 0.0
    _paused_since = 0.0

    def start(self, wall_ms: float) -> anyio.CancelScope:
        """Start the countdown. Returns the scope to enter now; it is cancelled when time is up."""
        self._scope = anyio.move_on_after(wall_ms / 1000)
        return self._scope

    @property
    def paused_s(self) -> float:
        """For how long the clock has been paused so far, in total."""
        current_s = time.monotonic() - self._paused_since if self._pauses else 0.0
        return self._total_paused_s + current_s

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Pause the clock within this context. Overlapping pauses count once."""
        if not self._pauses:
            self._pause()
        self._pauses += 1
        try:
            yield
        finally:
            self._pauses -= 1
            if not self._pauses:
                self._resume()

    def _pause(self) -> None:
        self._paused_since = time.monotonic()
        if self._scope is not None:
            self._remaining_s = self._scope.deadline - anyio.current_time()
            self._scope.deadline = math.inf

    def _resume(self) -> None:
        self._total_paused_s += time.monotonic() - self._paused_since
        if self._scope is not None:
            self._scope.deadline = anyio.current_time() + self._remaining_s


def wall_limit_reached(allowed_ms: int) -> LimitExceededError:
    """The error for code that ran for too long."""
    return LimitExceededError(
        f"the code ran longer than {allowed_ms} ms; raise `limits.wall_ms` if it may",
        limit="wall_ms",
        allowed=allowed_ms,
    )
