"""What one principal may ask of the service: requests a second, and at the same time.

A bucket holds at most a burst of requests and fills at the rate. The buckets of principals who have
not asked for a while are full, and are forgotten.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import msgspec

from caps.service.problems import Problem

_KEPT: Final = 10_000


class RequestLimits(msgspec.Struct, frozen=True, kw_only=True):
    """All limits of the service. Those of code are in the policy."""

    body_bytes: int = 8 * 1024 * 1024
    requests_per_second: float = 50.0
    burst: int = 200
    concurrent_requests: int = 256
    pending_executions: int = 64
    """Of one principal, waiting or running."""
    keep_days: float = 90.0
    """How long executions and their events are kept after their end; 0: for ever."""


class _Account(msgspec.Struct):
    tokens: float
    filled_at: float
    under_way: int = 0


class PrincipalLimits:
    """Counts the requests of each principal."""

    def __init__(self, limits: RequestLimits, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._clock = clock
        self._accounts: OrderedDict[str, _Account] = OrderedDict()

    @contextmanager
    def request(self, principal: str) -> Iterator[None]:
        """One request, until this context ends. Raises Problem (429)."""
        account = self._account(principal)
        self._take(account)
        if account.under_way >= self._limits.concurrent_requests:
            raise Problem(
                429, "too_many_requests_at_once", "too many requests are under way; wait for some"
            )
        account.under_way += 1
        try:
            yield
        finally:
            account.under_way -= 1

    def _account(self, principal: str) -> _Account:
        account = self._accounts.get(principal)
        if account is None:
            self._forget_idle()
            account = _Account(float(self._limits.burst), self._clock())
            self._accounts[principal] = account
        self._accounts.move_to_end(principal)
        return account

    def _take(self, account: _Account) -> None:
        now, rate = self._clock(), self._limits.requests_per_second
        filled = account.tokens + (now - account.filled_at) * rate
        account.tokens, account.filled_at = min(float(self._limits.burst), filled), now
        if account.tokens < 1:
            seconds = math.ceil((1 - account.tokens) / rate)
            raise Problem(
                429,
                "rate_exceeded",
                "too many requests; slow down",
                headers={"Retry-After": str(seconds)},
            )
        account.tokens -= 1

    def _forget_idle(self) -> None:
        """The oldest that are not under way, if there are too many."""
        excess = len(self._accounts) - _KEPT + 1
        if excess > 0:
            idle = [name for name, each in self._accounts.items() if each.under_way == 0]
            for name in idle[:excess]:
                del self._accounts[name]
