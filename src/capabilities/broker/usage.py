"""(6) What one execution has used so far: an input of the decision about its next call.

Calls, calls in flight, rate windows and the wall clock are counted here only. The rules about them
are in `security/decision.py`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from caps.capabilities.broker.idempotency import IdempotencyCache
from caps.capabilities.broker.rate_windows import SlidingWindows
from caps.capabilities.grant import BoundCapability, Grant
from caps.protocol.messages import CapabilityRequestMessage
from caps.security.audit.model.redaction import Redactor
from caps.security.decision import KeyUse, Usage
from caps.worker.host.supervisor.wall_clock import WallClock


class UsageMeter:
    """Counts for one execution. `rates` is shared by all executions, `keys` by its session."""

    def __init__(
        self,
        grant: Grant,
        principal: str,
        rates: SlidingWindows,
        keys: IdempotencyCache,
        clock: WallClock,
        redactor: Redactor,
    ) -> None:
        self.calls = 0
        """All calls so far, including refused ones."""
        self._grant = grant
        self._principal = principal
        self._rates = rates
        self._keys = keys
        self._clock = clock
        self._redactor = redactor
        self._in_flight = 0
        self._deadline = 0.0

    def begin(self) -> None:
        """Start the clock of the execution: its code is being sent."""
        self._deadline = time.monotonic() + self._grant.limits.wall_ms / 1000

    def before(self, request: CapabilityRequestMessage) -> Usage:
        """What was used before `request`."""
        in_window, past_deadline = self.by_time(request)
        calls = self.calls
        if request.idempotency_key is None:
            return Usage(calls, self._in_flight, in_window, past_deadline)
        key_use = self._key_use(request.capability, request.idempotency_key, request.payload)
        if key_use is KeyUse.FRESH:
            # A session keeps the answers of all its keys: at most as many as one run may call.
            calls = max(calls, len(self._keys))
        return Usage(calls, self._in_flight, in_window, past_deadline, key_use)

    def by_time(self, request: CapabilityRequestMessage) -> tuple[int, bool]:
        """The calls in the rate's window, and whether the execution's time is over."""
        bound = self._grant.terms.get(request.capability)
        now = time.monotonic()
        in_window = 0
        if bound is not None and bound.rate is not None:
            in_window = self._rates.used(self._rate_key(bound), bound.rate, now)
        return in_window, now > self._deadline and self._is_after_pauses(now)

    def is_over(self) -> bool:
        """Whether the execution's time is over."""
        now = time.monotonic()
        return now > self._deadline and self._is_after_pauses(now)

    def _is_after_pauses(self, now: float) -> bool:
        """Whether `now`, after the deadline, is also after what the pauses of the clock add."""
        return now > self._deadline + self._clock.paused_s

    def add(self) -> None:
        """A call is in flight, whether it will be allowed or not."""
        self.calls += 1
        self._in_flight += 1

    def remove(self) -> None:
        """A call is no longer in flight."""
        self._in_flight -= 1

    def take_rate(self, bound: BoundCapability) -> None:
        """A call is allowed and counts in the window of its rate, if it has one."""
        if bound.rate is not None:
            self._rates.add(self._rate_key(bound), bound.rate, time.monotonic())

    def _key_use(self, capability: str, key: str, payload: Mapping[str, Any]) -> KeyUse:
        recorded = self._keys.get((capability, key))
        if recorded is None:
            return KeyUse.FRESH
        same = recorded.args_hmac == self._redactor.digest(payload)
        return KeyUse.REPEAT if same else KeyUse.CONFLICT

    def _rate_key(self, bound: BoundCapability) -> tuple[str, str, str]:
        return (self._grant.policy_id, self._principal, bound.name)
