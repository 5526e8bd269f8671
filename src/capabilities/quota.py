"""What was used so far: counts of one execution, and rate windows across executions."""

from __future__ import annotations

from collections import deque

from caps.security.policy import Rate

RateKey = tuple[str, str, str]


class RateWindows:
    """Sliding windows of allowed calls, by policy, principal and capability.

    They outlive executions: `60/min` bounds a principal however it spreads its calls.
    """

    def __init__(self) -> None:
        self._windows: dict[RateKey, deque[float]] = {}

    def used(self, key: RateKey, rate: Rate, now: float) -> int:
        """How many calls lie in the window that ends now."""
        window = self._windows.get(key)
        if window is None:
            return 0
        while window and window[0] <= now - rate.period_s:
            window.popleft()
        if not window:
            del self._windows[key]
        return len(window)

    def add(self, key: RateKey, now: float) -> None:
        """Count one allowed call."""
        self._windows.setdefault(key, deque()).append(now)
