"""What was used so far: rate windows across executions."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from caps.security.policy import Rate

RateKey = tuple[str, str, str]

_FEW_WINDOWS = 1024


@dataclass(slots=True)
class _Window:
    """When the calls of one key were made, oldest first."""

    period_s: int
    calls: deque[float] = field(default_factory=deque)

    def is_over(self, now: float) -> bool:
        return self.calls[-1] <= now - self.period_s


class RateWindows:
    """Sliding windows of allowed calls, by policy, principal and capability.

    They outlive executions: `60/min` bounds a principal however it spreads its calls. A window
    that is over is dropped, so that they do not grow with every principal that was ever seen.
    """

    def __init__(self) -> None:
        self._windows: dict[RateKey, _Window] = {}
        self._sweep_at = _FEW_WINDOWS

    def __len__(self) -> int:
        return len(self._windows)

    def used(self, key: RateKey, rate: Rate, now: float) -> int:
        """How many calls lie in the window that ends now."""
        window = self._windows.get(key)
        if window is None:
            return 0
        calls = window.calls
        while calls and calls[0] <= now - rate.period_s:
            calls.popleft()
        if not calls:
            del self._windows[key]
        return len(calls)

    def add(self, key: RateKey, rate: Rate, now: float) -> None:
        """Count one allowed call."""
        if len(self._windows) >= self._sweep_at:
            self._sweep(now)
        window = self._windows.setdefault(key, _Window(rate.period_s))
        # A revision of the policy may have lengthened the period since.
        window.period_s = max(window.period_s, rate.period_s)
        window.calls.append(now)

    def _sweep(self, now: float) -> None:
        self._windows = {
            key: window for key, window in self._windows.items() if not window.is_over(now)
        }
        self._sweep_at = max(_FEW_WINDOWS, 2 * len(self._windows))
