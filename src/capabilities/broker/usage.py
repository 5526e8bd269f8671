"""(6) What one execution has used so far: an input of the decision about its next call.

Calls, their cost, calls in flight, rate windows and the wall clock are counted here only. The rules
about them are in `security/decision.py`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from caps.capabilities.broker.idempotency import IdempotencyCache
from caps.capabilities.broker.rate_windows import RateKey, SlidingWindows
from caps.capabilities.grant import MILLION, Grant
from caps.protocol.messages import CapabilityRequestMessage
from caps.security.audit.model.redaction import Redactor
from caps.security.policy import Rate
from caps.security.request import KeyUse, Usage
from caps.worker.host.supervisor.wall_clock import WallClock


def deadline_of(grant: Grant) -> float:
    """When an execution whose code is sent now is over, on the monotonic clock."""
    return time.monotonic() + grant.limits.wall_ms / 1000


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
        outer: UsageMeter | None = None,
        deadline: float = 0.0,
    ) -> None:
        """`outer` is that of the execution that this one is nested in.

        See `deadline_of`: before it begins, the time of an execution is over.
        """
        self.calls = 0
        """All calls so far, including refused ones and those of nested executions."""
        self.millionths = 0
        """The cost of all allowed calls so far, including those of nested executions."""
        self.outer = outer
        self._grant = grant
        self._principal = principal
        self._rates = rates
        self._keys = keys
        self._clock = clock
        self._redactor = redactor
        self._in_flight = 0
        self._deadline = deadline

    def before(
        self,
        request: CapabilityRequestMessage,
        answered: frozenset[str],
        *,
        is_nested: bool = False,
    ) -> Usage:
        """What was used before `request`; `answered` is what its channel was answered.

        A nested call uses the place of the call that waits for it.
        """
        in_windows, past_deadline = self.by_time(request)
        calls = self.calls
        if self.outer is not None:  # as if those that the outer execution has not left were made
            calls = self._grant.limits.calls - self.calls_left
        in_flight = self._in_flight - is_nested
        cost = self._cost_with(request.capability) if self._grant.costs else 0.0
        if request.idempotency_key is None:
            return Usage(calls, in_flight, in_windows, past_deadline, answered=answered, cost=cost)
        key_use = self._key_use(request.capability, request.idempotency_key, request.payload)
        if key_use is KeyUse.FRESH:
            # A session keeps the answers of all its keys: at most as many as one run may call.
            calls = max(calls, len(self._keys))
        return Usage(
            calls, in_flight, in_windows, past_deadline, key_use, answered=answered, cost=cost
        )

    def again(self, request: CapabilityRequestMessage, before: Usage) -> Usage:
        """`before` with what may have changed while the request waited: time, rates and cost."""
        in_windows, past_deadline = self.by_time(request)
        return replace(
            before,
            in_rate_windows=in_windows,
            past_deadline=past_deadline,
            cost=self._cost_with(request.capability),
        )

    @property
    def calls_left(self) -> int:
        left = self._grant.limits.calls - self.calls
        return left if self.outer is None else min(left, self.outer.calls_left)

    @property
    def millionths_left(self) -> int:
        left = round(self._grant.limits.cost * MILLION) - self.millionths
        return left if self.outer is None else min(left, self.outer.millionths_left)

    def _cost_with(self, capability: str) -> float:
        """The cost so far with a call of `capability`; what an outer execution lacks is used."""
        used = self.millionths
        if self.outer is not None:
            used = round(self._grant.limits.cost * MILLION) - self.millionths_left
        return (used + self._grant.costs.get(capability, 0)) / MILLION

    def by_time(self, request: CapabilityRequestMessage) -> tuple[tuple[int, ...], bool]:
        """The calls in the rate's window of each policy, and whether the time is over."""
        now = time.monotonic()
        is_over = now > self._deadline and self._is_after_pauses(now)
        if request.capability not in self._grant.chain.rated:
            return (), is_over
        return self._in_windows(request.capability, now), is_over

    def _in_windows(self, capability: str, now: float) -> tuple[int, ...]:
        found = []
        for policy in self._grant.links:
            rate = policy.terms[capability].rate
            key = (policy.policy_id, self._principal, capability)
            found.append(0 if rate is None else self._rates.used(key, rate, now))
        return tuple(found)

    def is_over(self) -> bool:
        """Whether the execution's time is over."""
        now = time.monotonic()
        return now > self._deadline and self._is_after_pauses(now)

    def _is_after_pauses(self, now: float) -> bool:
        """Whether `now`, after the deadline, is also after what the pauses of the clock add."""
        return now > self._deadline + self._clock.paused_s

    def has_room(self, calls: int) -> bool:
        """Whether the limits and the time certainly allow n more calls.

        False also where more has to be known: nested code, a deadline that was paused.
        """
        limits = self._grant.limits
        return (
            self.outer is None
            and self.calls + calls <= limits.calls
            and self._in_flight + calls <= limits.concurrency
            and time.monotonic() <= self._deadline
        )

    def is_in_time(self) -> bool:
        """Whether the time is certainly not over. False also for a deadline that was paused."""
        return time.monotonic() <= self._deadline

    def count(self, calls: int) -> None:
        """These were made and answered while nothing else could call."""
        self.calls += calls

    def add(self, *, is_nested: bool = False) -> None:
        """A call is in flight, whether it will be allowed or not."""
        self.calls += 1
        if not is_nested:
            self._in_flight += 1
        outer = self.outer
        while outer is not None:
            outer.calls += 1
            outer = outer.outer

    def remove(self, *, is_nested: bool = False) -> None:
        """A call is no longer in flight."""
        if not is_nested:
            self._in_flight -= 1

    def take(self, capability: str) -> None:
        """A call is allowed: it costs, and counts in the windows of the policies that rate it."""
        meter: UsageMeter | None = self
        cost = self._grant.costs.get(capability, 0)
        while cost and meter is not None:
            meter.millionths += cost
            meter = meter.outer
        if capability not in self._grant.chain.rated:
            return
        now, rates = time.monotonic(), dict[RateKey, list[Rate]]()
        for policy in self._grant.links:
            rate = policy.terms[capability].rate
            if rate is not None:
                # Policies with the same id share a window, in which a call counts once.
                key = (policy.policy_id, self._principal, capability)
                rates.setdefault(key, []).append(rate)
        for key, of_key in rates.items():
            self._rates.add(key, *of_key, now=now)

    def _key_use(self, capability: str, key: str, payload: Mapping[str, Any]) -> KeyUse:
        recorded = self._keys.get((capability, key))
        if recorded is None:
            return KeyUse.FRESH
        same_terms = recorded.terms_sha256 == self._grant.terms_sha256
        same = same_terms and recorded.args_hmac == self._redactor.digest(payload)
        return KeyUse.REPEAT if same else KeyUse.CONFLICT
