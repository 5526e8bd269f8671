"""The scope of `web`: what a policy may write, and what the tools for reviewers are told."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from caps.providers.web import WebScope
from caps.security.review.scope_answers import ObservedArguments
from caps.security.review.width import Breadth


def scope(**keys: Any) -> WebScope:
    return WebScope.model_validate({"hosts": ["example.org"], **keys})


def test_what_a_scope_leaves_open_is_narrow() -> None:
    """Two ports, both methods and schemes, nothing but public addresses."""
    found = scope()
    assert found.ports == (80, 443)
    assert (found.max_bytes, found.redirects) == (1024 * 1024, 5)
    assert (found.loopback, found.networks) == (False, ())


@pytest.mark.parametrize(
    "keys",
    [
        {"host": ["a.org"]},
        {"hosts": []},
        {"hosts": "a.org"},
        {"hosts": ["http://a.org"]},
        {"ports": [0]},
        {"ports": [65536]},
        {"ports": ["80"]},
        {"ports": []},
        {"schemes": ["ftp"]},
        {"methods": ["POST"]},
        {"methods": ["get"]},
        {"max_bytes": 0},
        {"max_bytes": 5 * 1024 * 1024},
        {"redirects": -1},
        {"redirects": 16},
        {"loopback": "yes"},
        {"networks": ["0.0.0.0/0"]},
        {"networks": ["127.0.0.0/8"]},
        {"networks": ["169.254.0.0/16"]},
        {"networks": ["::/0"]},
        {"networks": ["10.0.0.1/8"]},
        {"networks": ["fe80::/10"]},
        {"networks": ["8.8.8.0/24"]},
    ],
)
def test_a_scope_that_is_not_valid_is_an_error(keys: dict[str, Any]) -> None:
    """Never a wider grant."""
    with pytest.raises(ValidationError):
        scope(**keys)


@pytest.mark.parametrize("payload", [{}, {"url": 5}, {"url": None}, None, [], {"url": "x"}])
def test_any_payload_has_an_answer(payload: Any) -> None:
    """Also one that no schema would let through."""
    assert scope().violation("fetch", payload) is not None
    assert scope().violation("other", {"url": "https://example.org/"}) is not None


@pytest.mark.parametrize(
    ("older", "newer", "key", "breadth"),
    [
        ({}, {"hosts": ["example.org", "b.org"]}, "hosts", Breadth.WIDER),
        ({"hosts": ["*.b.org"]}, {"hosts": ["x.b.org", "*.a.b.org"]}, "hosts", Breadth.NARROWER),
        ({}, {"hosts": ["*"]}, "hosts", Breadth.WIDER),
        ({}, {"hosts": ["*.example.org"]}, "hosts", Breadth.MIXED),
        ({}, {"ports": [443]}, "ports", Breadth.NARROWER),
        ({}, {"loopback": True}, "loopback", Breadth.WIDER),
        ({"networks": ["10.0.0.0/8"]}, {"networks": ["10.1.0.0/16"]}, "networks", Breadth.NARROWER),
        ({}, {"max_bytes": 5}, "max_bytes", Breadth.NARROWER),
        ({}, {}, "hosts", Breadth.SAME),
    ],
)
def test_the_width_of_a_change(
    older: dict[str, Any], newer: dict[str, Any], key: str, breadth: Breadth
) -> None:
    """For `caps policy diff`."""
    assert scope(**older).widths_to(scope(**newer))[key] is breadth


@pytest.mark.parametrize(
    ("url", "key", "value"),
    [
        ("https://b.org/", "hosts", "b.org"),
        ("https://example.org:8443/", "ports", 8443),
    ],
)
def test_the_smallest_change_that_allows_a_call(url: str, key: str, value: object) -> None:
    """For `caps policy explain`."""
    change = scope().change_for("fetch", {"url": url})
    assert change is not None
    assert (change.key, change.value) == (key, value)
    widened = {key: [*getattr(scope(), key), value]}
    assert scope(**widened).violation("fetch", {"url": url}) is None


def test_no_change_allows_what_is_never_reached() -> None:
    """Metadata, and what is not a URL."""
    wide = scope(hosts=["*"])
    assert wide.change_for("fetch", {"url": "http://a b/"}) is None
    assert wide.change_for("fetch", {"url": "http://169.254.169.254/"}) is None


def test_the_narrowest_scope_for_what_was_seen() -> None:
    """For `caps policy learn`: it allows the calls, and not the one outside."""
    calls = [
        ObservedArguments("fetch", {"url": "https://b.org/x"}),
        ObservedArguments("fetch", {"url": "http://127.0.0.1:8080/", "method": "HEAD"}),
        ObservedArguments("fetch", {"url": "https://b.org/y"}),
        ObservedArguments("fetch", {}, frozenset({"url"})),
    ]
    proposal = WebScope.covering(calls, scope(loopback=True, max_bytes=10))
    assert proposal is not None
    assert proposal.scope == {
        "hosts": ["127.0.0.1", "b.org"],
        "ports": [443, 8080],
        "schemes": ["http", "https"],
        "methods": ["GET", "HEAD"],
        "loopback": True,
        "max_bytes": 10,
    }
    assert next(part.calls for part in proposal.parts if part.place == ("hosts", 1)) == (0, 2)
    learned = WebScope.model_validate(proposal.scope)
    assert [learned.violation("fetch", call.shown) for call in calls[:3]] == [None] * 3
    assert learned.violation("fetch", proposal.outside[0].shown) is not None
    assert WebScope.covering(calls[3:], None) is None


def test_concerns_of_a_wide_scope() -> None:
    """For `caps policy lint`."""
    wide = scope(hosts=["*"], loopback=True, networks=["10.0.0.0/8"])
    assert [each.code for each in wide.concerns(frozenset({"fetch"}), frozenset())] == [
        "every-host",
        "loopback-reached",
        "private-network-reached",
        "http-allowed",
    ]
    assert scope(schemes=["https"]).concerns(frozenset({"fetch"}), frozenset()) == ()
