"""`lint`: rules without effect, calls that can never happen, wide grants, missing tests."""

from __future__ import annotations

from typing import Any

import pytest

from caps.capabilities.registry import CapabilityRegistry
from caps.security.review.lint import lint
from caps.security.review.lint_codes import SEVERITIES, Finding, LintCode
from caps.security.review.scope_answers import Severity
from support.policy_strategies import REGISTRY, loaded

DENIED = [{"call": "no.such", "expect": "deny"}]


def found_in(document: dict[str, Any]) -> dict[tuple[str, str], Finding]:
    """What is found, by code and place."""
    findings = lint(REGISTRY, loaded(document), written=document)
    return {(finding.code, finding.place): finding for finding in findings}


def files(*allow: str, **scope: Any) -> dict[str, Any]:
    document = {"allow": list(allow), "tests": DENIED}
    return {**document, "scopes": {"files": {"allowlist": ["/srv/app"], **scope}}}


@pytest.mark.parametrize(
    ("document", "code", "place"),
    [
        ({"allow": ["math.ad"]}, "unknown-rule", "/allow/0"),
        ({"deny": ["maths.*"]}, "unknown-rule", "/deny/0"),
        ({"deny": [{"rule": "maths.*", "mode": "dry_run"}]}, "unknown-rule", "/deny/0"),
        ({"limits": {"rates": {"no.such": "1/s"}}}, "unknown-rule", "/limits/rates/no.such"),
        ({"tests": [{"call": "a.b", "expect": "allow"}]}, "unknown-rule", "/tests/0/call"),
        ({"scopes": {"files": {"allowlits": ["/a"]}}}, "bad-scope", "/scopes/files"),
        ({"scopes": {"files": {"allowlist": []}}}, "bad-scope", "/scopes/files"),
        ({"scopes": {"math": {}}}, "bad-scope", "/scopes/math"),
        ({"scopes": {"web": {}}}, "bad-scope", "/scopes/web"),
        ({"tests": [{"call": "math.add", "expect": "allow"}]}, "failing-test", "/tests/0"),
        ({"allow": ["files.read"]}, "missing-scope", "/allow/0"),
        ({"allow": ["time.now"], "limits": {"calls": 0}}, "no-calls", "/limits/calls"),
        ({"allow": ["math.add"], "deny": ["math.*"]}, "shadowed-allow", "/allow/0"),
        ({"allow": ["math.*", "math.add"]}, "redundant-rule", "/allow/1"),
        ({"deny": ["math.add"]}, "idle-deny", "/deny/0"),
        ({"approve": ["math.add"]}, "idle-approve", "/approve/0"),
        ({"limits": {"rates": {"math.*": "1/s"}}}, "idle-rate", "/limits/rates/math.*"),
        ({"scopes": {"files": {"allowlist": ["/srv"]}}}, "idle-scope", "/scopes/files"),
        ({"allow": ["math.*"]}, "whole-domain", "/allow/0"),
        ({"modules": ["pandas", "numpy"]}, "real-module", "/modules/1"),
        (
            {"deny": [{"rule": "math.add", "mode": "dry_run"}, "math.*"]},
            "redundant-rule",
            "/deny/0",
        ),
        ({"limits": {"wall_ms": 60_000}}, "high-limit", "/limits/wall_ms"),
        ({}, "no-tests", "/tests"),
        ({"tests": [{"call": "time.now", "expect": "allow"}]}, "no-deny-test", "/tests"),
        ({"allow": ["time.now"], "tests": DENIED}, "untested", "/tests"),
        (files("files.write", read_only=True), "never-allowed", "/allow/0"),
        (files("files.read", allowlist=["/"]), "wide-scope", "/scopes/files/allowlist/0"),
        (files("files.read", allowlist=["/home/ada"]), "wide-scope", "/scopes/files/allowlist/0"),
        (files("files.read", allowlist=["/root"]), "wide-scope", "/scopes/files/allowlist/0"),
        (files("files.read", allowlist=["/proc/1"]), "wide-scope", "/scopes/files/allowlist/0"),
        (
            files("files.read", allowlist=["/srv/a", "/srv/a/b"]),
            "redundant-entry",
            "/scopes/files/allowlist/1",
        ),
        (files("files.read", "files.write"), "write-beside-read", "/scopes/files"),
        (files("files.read"), "read-only-unset", "/scopes/files"),
        (files("files.read"), "max-bytes-unset", "/scopes/files"),
    ],
)
def test_each_flaw_has_its_code_and_its_place(
    document: dict[str, Any], code: str, place: str
) -> None:
    """One line, what to do about it, and where it stands in the file."""
    found = found_in(document)
    assert (code, place) in found
    finding = found[code, place]
    for text in (finding.message, finding.remedy):
        assert text
        assert "\n" not in text
        assert not text.endswith(".")


def test_a_sound_policy_has_no_findings() -> None:
    """Exact rules, a narrow scope, and a test of each."""
    document = {
        "allow": ["files.read"],
        "scopes": {"files": {"allowlist": ["/srv/app"], "read_only": True, "max_bytes": 10}},
        "tests": [
            {"call": "files.read", "payload": {"path": "x"}, "expect": "allow"},
            {"call": "files.read", "payload": {"path": "/etc/x"}, "expect": "deny"},
        ],
    }
    assert found_in(document) == {}


def test_places_are_those_of_the_file() -> None:
    """The policy sorts its rules; the person who wrote it did not."""
    document = {"allow": ["time.now", "math.add"], "deny": ["math.*"], "tests": DENIED}
    assert ("shadowed-allow", "/allow/1") in found_in(document)


def test_one_bad_name_does_not_hide_the_rest() -> None:
    """Loading would stop at the first; here all of them are reported, and the rest is checked."""
    document = {"allow": ["math.ad", "tim.now", "files.read"], "scopes": {"web": {}}}
    codes = [code for code, _ in found_in(document)]
    assert codes.count("unknown-rule") == 2
    assert {"bad-scope", "missing-scope"} <= set(codes)


def test_the_worst_comes_first() -> None:
    """Errors, warnings, then what is worth knowing."""
    document = {"allow": ["math.*", "files.read"], "limits": {"wall_ms": 60_000}}
    ranks = [finding.severity.rank for finding in lint(REGISTRY, loaded(document))]
    assert ranks == sorted(ranks, reverse=True)
    assert set(ranks) == {severity.rank for severity in Severity}


def test_a_domain_without_capabilities_makes_an_empty_rule() -> None:
    """It exists, and the rule matches nothing."""
    registry = CapabilityRegistry()
    registry.domain("empty")
    codes = {finding.code for finding in lint(registry, loaded({"allow": ["empty.*"]}))}
    assert "empty-rule" in codes


def test_every_code_has_a_severity() -> None:
    """The set is closed."""
    assert set(SEVERITIES) == set(LintCode)
