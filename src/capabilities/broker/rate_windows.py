"""(6) Sliding rate windows, shared by all executions of a runtime."""

from __future__ import annotations

import itertools
from collections import deque

import msgspec

from caps.security.policy import Rate

RateKey = tuple[str, str, str]

_MIN_SWEEP_SIZE = 1024


class _Window(msgspec.Struct):
    """The times of the calls of one key, oldest first.

    Policies with the same id, and all revisions of a policy, share it and may have different rates:
    it keeps enough calls for the longest period and the largest count among them.
    """

    period_s: int
    count: int
    calls: deque[float] = msgspec.field(default_factory=deque)

    def extend_to(self, rate: Rate) -> None:
        self.period_s = max(self.period_s, rate.period_s)
        self.count = max(self.count, rate.count)

    def prune(self, now: float) -> None:
        calls = self.calls
        while calls and (calls[0] <= now - self.period_s or len(calls) > self.count):
            calls.popleft()

    def count_within(self, period_s: int, now: float) -> int:
        """How many of the stored calls were made in the last `period_s` seconds."""
        if period_s == self.period_s:
            return len(self.calls)
        since = now - period_s
        return sum(1 for _ in itertools.takewhile(lambda at: at > since, reversed(self.calls)))

    def is_over(self, now: float) -> bool:
        return self.calls[-1] <= now - self.period_s


class SlidingWindows:
    """Sliding windows of allowed calls, by policy, principal and capability.

    They outlive executions: `60/min` limits a principal even if it spreads its calls over several
    executions. A window that is over is dropped, so memory does not grow with every principal.
    """

    def __init__(self) -> None:
        self._windows: dict[RateKey, _Window] = {}
        self._sweep_at = _MIN_SWEEP_SIZE

    def __len__(self) -> int:
        return len(self._windows)

    def used(self, key: RateKey, rate: Rate, now: float) -> int:
        """How many calls are in the window of `rate` that ends now."""
        window = self._windows.get(key)
        if window is None:
            return 0
        window.extend_to(rate)
        window.prune(now)
        if not window.calls:
            del self._windows[key]
        return window.count_within(rate.period_s, now)

    def add(self, key: RateKey, *rates: Rate, now: float) -> None:
        """Count one allowed call, to which all of `rates` apply."""
        if len(self._windows) >= self._sweep_at:
            self._sweep(now)
        window = self._windows.setdefault(key, _Window(0, 0))
        for rate in rates:
            window.extend_to(rate)
        window.calls.append(now)

    def _sweep(self, now: float) -> None:
        self._windows = {
            key: window for key, window in self._windows.items() if not window.is_over(now)
        }
        self._sweep_at = max(_MIN_SWEEP_SIZE, 2 * len(self._windows))
