"""The limits of one principal: a burst, then the rate, and requests at the same time."""

from __future__ import annotations

import pytest

from caps.service.limits import PrincipalLimits, RequestLimits
from caps.service.problems import Problem


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_principal_has_a_burst_and_then_the_rate() -> None:
    """And another principal has its own."""
    clock = Clock()
    limits = PrincipalLimits(RequestLimits(requests_per_second=0.5, burst=2), clock)
    for _ in range(2):
        with limits.request("ada"):
            pass
    with pytest.raises(Problem) as refused, limits.request("ada"):
        pass
    assert (refused.value.status_code, refused.value.code) == (429, "rate_exceeded")
    assert refused.value.headers == {"Retry-After": "2"}
    with limits.request("eve"):
        pass
    clock.now = 2.0
    with limits.request("ada"):
        pass


def test_requests_at_the_same_time_are_limited() -> None:
    """One that ended, however it ended, makes room."""
    limits = PrincipalLimits(RequestLimits(concurrent_requests=1), Clock())
    with limits.request("ada"), pytest.raises(Problem) as refused, limits.request("ada"):
        pass
    assert refused.value.code == "too_many_requests_at_once"
    with pytest.raises(ZeroDivisionError), limits.request("ada"):
        raise ZeroDivisionError
    with limits.request("ada"):
        pass


def test_accounts_do_not_grow_without_bound() -> None:
    """A principal that has not asked for a while is forgotten; one under way is not."""
    limits = PrincipalLimits(RequestLimits(), Clock())
    with limits.request("ada"):
        for number in range(10_500):
            with limits.request(f"user {number}"):
                pass
        assert len(limits._accounts) == 10_000
        assert "ada" in limits._accounts
