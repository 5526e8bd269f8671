"""Rate windows: what was used lately, across executions."""

from __future__ import annotations

from caps.capabilities.broker.rate_windows import SlidingWindows
from caps.security.policy import Rate

KEY = ("policy", "alice", "web.fetch")
PER_MINUTE = Rate(2, 60)


def test_nothing_is_used_at_first() -> None:
    """A key that was never seen has an empty window, which takes no room."""
    windows = SlidingWindows()
    assert windows.used(KEY, PER_MINUTE, now=0.0) == 0
    assert len(windows) == 0


def test_calls_count_until_their_period_is_over() -> None:
    """The window slides: each call leaves it on its own."""
    windows = SlidingWindows()
    windows.add(KEY, PER_MINUTE, now=0.0)
    windows.add(KEY, PER_MINUTE, now=30.0)
    assert windows.used(KEY, PER_MINUTE, now=59.9) == 2
    assert windows.used(KEY, PER_MINUTE, now=60.0) == 1
    assert windows.used(KEY, PER_MINUTE, now=89.9) == 1
    assert windows.used(KEY, PER_MINUTE, now=90.0) == 0


def test_policies_of_one_id_may_have_different_periods() -> None:
    """Each counts in its own window, and none forgets what another still counts."""
    windows, per_second, per_hour = SlidingWindows(), Rate(5, 1), Rate(3, 3600)
    windows.add(KEY, per_hour, now=0.0)
    windows.add(KEY, per_hour, now=10.0)
    assert windows.used(KEY, per_second, now=20.0) == 0
    windows.add(KEY, per_second, now=20.0)
    assert windows.used(KEY, per_second, now=20.5) == 1
    assert windows.used(KEY, per_hour, now=21.0) == 3
    assert windows.used(KEY, PER_MINUTE, now=65.0) == 2
    assert windows.used(KEY, per_hour, now=3605.0) == 2


def test_no_more_is_kept_than_any_rate_can_ask_for() -> None:
    """A long period next to a fast rate does not make a window grow without bound."""
    windows, per_second = SlidingWindows(), Rate(3, 1)
    assert windows.used(KEY, Rate(2, 86400), now=0.0) == 0
    windows.add(KEY, Rate(2, 86400), now=0.0)
    for number in range(1000):
        windows.used(KEY, per_second, now=float(number))
        windows.add(KEY, per_second, now=float(number))
    assert windows.used(KEY, Rate(2, 86400), now=1000.0) == 3


def test_keys_are_apart() -> None:
    """Another policy, principal or capability has its own window."""
    windows = SlidingWindows()
    windows.add(KEY, PER_MINUTE, now=0.0)
    for other in (
        ("other", "alice", "web.fetch"),
        ("policy", "bob", "web.fetch"),
        ("policy", "alice", "web.post"),
    ):
        assert windows.used(other, PER_MINUTE, now=0.0) == 0
    assert windows.used(KEY, PER_MINUTE, now=0.0) == 1


def test_windows_that_are_over_are_dropped() -> None:
    """Memory follows the principals of a period, not all that were ever seen."""
    windows = SlidingWindows()
    for number in range(10_000):
        windows.add(("policy", f"user-{number}", "web.fetch"), PER_MINUTE, now=float(number))
    assert len(windows) <= 1024


def test_windows_that_still_count_are_kept() -> None:
    """Regardless of the number of concurrent principals."""
    windows = SlidingWindows()
    keys = [("policy", f"user-{number}", "web.fetch") for number in range(5000)]
    for key in keys:
        windows.add(key, Rate(1, 86400), now=0.0)
    windows.add(("policy", "last", "web.fetch"), PER_MINUTE, now=3600.0)
    assert all(windows.used(key, Rate(1, 86400), now=3600.0) == 1 for key in keys)
