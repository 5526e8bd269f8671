"""`diff`: what one policy lets through, compared to another."""

from __future__ import annotations

from typing import Any

import pytest

from caps.security.review.diff import PolicyDiff, diff
from caps.security.review.width import Breadth
from support.policy_strategies import REGISTRY, loaded

FILES = ["files.read", "files.write"]


def compared(older: dict[str, Any], newer: dict[str, Any]) -> PolicyDiff:
    return diff(REGISTRY, loaded(older), loaded(newer))


def scoped(**scope: Any) -> dict[str, Any]:
    return {"allow": FILES, "scopes": {"files": {"allowlist": ["/srv"], **scope}}}


def test_rules_are_compared_by_what_they_grant() -> None:
    """A list of all functions of a domain is the same as its wildcard."""
    every = ["math.add", "math.divide", "math.multiply", "math.subtract"]
    assert compared({"allow": ["math.*"]}, {"allow": every}).all == ()


def test_capabilities_are_gained_and_lost() -> None:
    """Both together are mixed."""
    found = compared({"allow": ["math.add"]}, {"allow": ["time.now"]})
    assert (found.gained, found.lost) == (("time.now",), ("math.add",))
    assert found.verdict is Breadth.MIXED


def test_a_real_module_is_wider() -> None:
    """And its loss is narrower."""
    found = compared({"modules": ["pandas"]}, {"modules": ["numpy"]})
    assert {d.place: d.width for d in found.modules} == {
        "modules.numpy": Breadth.WIDER,
        "modules.pandas": Breadth.NARROWER,
    }
    assert compared({}, {"modules": ["numpy"]}).verdict is Breadth.WIDER


def test_a_rule_that_is_only_tried_out_denies_nothing() -> None:
    """To stop enforcing it is wider, and to try one out changes nothing."""
    tried = {"allow": ["math.add"], "deny": [{"rule": "math.add", "mode": "dry_run"}]}
    enforced = {"allow": ["math.add"], "deny": ["math.add"]}
    assert compared(enforced, tried).gained == ("math.add",)
    begun = compared({"allow": ["math.add"]}, tried)
    assert [(d.place, d.after, d.counts) for d in begun.all] == [
        ("deny.math.add", "dry_run", False)
    ]
    assert begun.verdict is Breadth.SAME


def test_the_limits() -> None:
    """Raised is wider, lowered is narrower."""
    found = compared({}, {"limits": {"calls": 2000, "wall_ms": 10}})
    assert {d.place: d.width for d in found.limits} == {
        "limits.calls": Breadth.WIDER,
        "limits.wall_ms": Breadth.NARROWER,
    }


@pytest.mark.parametrize(
    ("older", "newer", "width"),
    [
        (None, "1/s", Breadth.NARROWER),
        ("1/s", None, Breadth.WIDER),
        ("1/s", "60/min", Breadth.WIDER),  # the same in a minute, but as one burst
        ("60/min", "1/s", Breadth.NARROWER),
        ("2/s", "60/min", Breadth.MIXED),
        ("2/min", "1/hour", Breadth.NARROWER),
    ],
)
def test_rates_are_compared_by_what_they_let_in(
    older: str | None, newer: str | None, width: Breadth
) -> None:
    """In any window of either."""

    def with_rate(rate: str | None) -> dict[str, Any]:
        rates = {} if rate is None else {"time.now": rate}
        return {"allow": ["time.now"], "limits": {"rates": rates}}

    assert compared(with_rate(older), with_rate(newer)).verdict is width


@pytest.mark.parametrize(
    ("older", "newer", "width"),
    [
        (["/srv"], ["/srv", "/data"], Breadth.WIDER),
        (["/srv", "/data"], ["/srv"], Breadth.NARROWER),
        (["/srv"], ["/data"], Breadth.MIXED),
        (["/srv"], ["/"], Breadth.WIDER),
        (["/srv/a"], ["/srv"], Breadth.WIDER),
        (["/srv"], ["/srv/"], Breadth.SAME),
        (["/srv", "/data"], ["/data", "/srv"], Breadth.SAME),
        (["/srv"], ["/srv", "/srv/a"], Breadth.NARROWER),  # /srv/a can no longer be deleted
    ],
)
def test_directories_are_compared_by_what_they_hold(
    older: list[str], newer: list[str], width: Breadth
) -> None:
    """Not by how they are written."""
    found = compared(scoped(allowlist=older), scoped(allowlist=newer))
    assert found.verdict is width


def test_a_directory_within_another_changes_nothing_for_reading() -> None:
    """It only keeps itself from being changed."""
    older = scoped(allowlist=["/srv"], read_only=True)
    newer = scoped(allowlist=["/srv", "/srv/a"], read_only=True)
    assert compared(older, newer).verdict is Breadth.SAME


def test_the_other_keys_of_the_scope() -> None:
    """Each has its own width."""
    found = compared(scoped(read_only=True, max_bytes=9), scoped(read_only=False, max_bytes=8))
    assert {d.place: d.width for d in found.scopes} == {
        "scopes.files.read_only": Breadth.WIDER,
        "scopes.files.max_bytes": Breadth.NARROWER,
    }


def test_a_scope_of_what_is_not_granted_does_not_count() -> None:
    """It is listed, and has no effect."""
    older = {"scopes": {"files": {"allowlist": ["/srv"]}}}
    newer = {"scopes": {"files": {"allowlist": ["/"]}}}
    found = compared(older, newer)
    assert [d.counts for d in found.scopes] == [False]
    assert found.verdict is Breadth.SAME


def test_an_approval_lies_between_granted_and_withheld() -> None:
    """To ask for one is narrower than to grant, and wider than to withhold."""
    granted, asked = {"allow": ["time.now"]}, {"allow": ["time.now"], "approve": ["time.now"]}
    assert compared(granted, asked).verdict is Breadth.NARROWER
    assert compared({}, asked).verdict is Breadth.WIDER


def test_tests_are_counted() -> None:
    """They let nothing through."""
    one, other = {"call": "time.now", "expect": "deny"}, {"call": "math.add", "expect": "deny"}
    found = compared({"tests": [one]}, {"tests": [other]})
    assert (found.tests_added, found.tests_removed, found.verdict) == (1, 1, Breadth.SAME)
