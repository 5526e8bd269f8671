"""`explain`: which rule decided, the smallest change, and what else it opens."""

from __future__ import annotations

from typing import Any

import pytest

from caps.capabilities.registry import CapabilityRegistry
from caps.security.request import Request
from caps.security.review.explain import Explanation, explain
from caps.security.scopes import Scope, Violation
from support.policy_strategies import REGISTRY, loaded


def explained(document: dict[str, Any], capability: str, **payload: Any) -> Explanation:
    """What a policy decides about one call; places refer to the document as written."""
    return explain(REGISTRY, loaded(document), Request(capability, payload), written=document)


def patch_of(found: Explanation) -> list[dict[str, Any]]:
    return [operation for change in found.changes for operation in change.patch]


def test_an_allow_names_its_rule_and_needs_no_change() -> None:
    """Nothing is suggested for what is allowed."""
    found = explained({"allow": ["math.*"]}, "math.add", a=1, b=2)
    assert (found.decision.allowed, found.decision.rule) == (True, "math.*")
    assert (found.changes, found.hopeless) == ((), None)


def test_the_capability_itself_is_allowed_and_not_its_domain() -> None:
    """The narrowest rule, and what it opens."""
    found = explained({"allow": ["time.now"]}, "math.add", a=1, b=2)
    assert patch_of(found) == [{"op": "add", "path": "/allow/-", "value": "math.add"}]
    assert "every call of `math.add`" in found.changes[0].opens


def test_a_list_that_is_not_there_is_made() -> None:
    """The patch can be applied to the document as it is written."""
    found = explained({}, "math.add", a=1, b=2)
    assert patch_of(found) == [{"op": "add", "path": "/allow", "value": ["math.add"]}]


def test_a_rule_that_denies_is_named_by_its_place_in_the_file() -> None:
    """Not by the order that the policy has once it is loaded."""
    document = {"allow": ["math.*"], "deny": ["time.now", "math.add"]}
    found = explained(document, "math.add", a=1, b=2)
    assert patch_of(found) == [{"op": "remove", "path": "/deny/1"}]


def test_a_domain_that_is_denied_stays_denied_but_for_the_one() -> None:
    """The others are named one by one, and what that loses is said."""
    found = explained({"allow": ["math.*"], "deny": ["math.*"]}, "math.add", a=1, b=2)
    assert found.policy is not None
    assert found.policy.deny == ("math.divide", "math.multiply", "math.subtract")
    assert "registered in `math` later" in found.changes[0].opens


def test_a_scope_that_is_set_opens_all_that_only_it_withheld() -> None:
    """Whatever is allowed and not denied in the domain, not the call alone."""
    document = {"allow": ["files.*"], "deny": ["files.delete"]}
    found = explained(document, "files.read", path="/srv/x")
    assert found.changes[0].says.startswith("set `scopes.files`")
    for name in ("files.list", "files.read", "files.stat", "files.write"):
        assert f"`{name}`" in found.changes[0].opens
    assert "files.delete" not in found.changes[0].opens


def test_an_approval_that_stands_in_the_way() -> None:
    """The change says that calls would need no approval any more."""
    found = explained({"allow": ["math.add"], "approve": ["math.add"]}, "math.add", a=1, b=2)
    assert patch_of(found) == [{"op": "remove", "path": "/approve/0"}]
    assert "without anybody's approval" in found.changes[0].opens


def test_the_nearest_directory_and_all_beneath_it() -> None:
    """For a file its directory, for a listing the directory itself; who else gets it is named."""
    document = {
        "allow": ["files.read", "files.list"],
        "scopes": {"files": {"allowlist": ["./here"]}},
    }
    read = explained(document, "files.read", path="/srv/a/x.txt")
    assert patch_of(read) == [{"op": "add", "path": "/scopes/files/allowlist/-", "value": "/srv/a"}]
    opens = "everything beneath `/srv/a`, to `files.list`, `files.read`"
    assert read.changes[0].opens == opens
    listing = explained(document, "files.list", path="/srv/a")
    assert patch_of(listing)[0]["value"] == "/srv/a"


def test_several_things_in_the_way_are_several_changes() -> None:
    """Each is reported, in the order of the checks."""
    document = {"scopes": {"files": {"allowlist": ["/srv"], "read_only": True, "max_bytes": 3}}}
    found = explained(document, "files.write", path="/etc/x", content="four")
    assert [operation["path"] for operation in patch_of(found)] == [
        "/allow",
        "/scopes/files/read_only",
        "/scopes/files/allowlist/-",
        "/scopes/files/max_bytes",
    ]
    assert patch_of(found)[-1]["value"] == 4


def test_a_missing_scope_is_made_for_the_one_call() -> None:
    """Read only, and no larger than its directory."""
    found = explained({"allow": ["files.read"]}, "files.read", path="/srv/a/x")
    (operation,) = patch_of(found)
    assert operation["path"] == "/scopes"
    assert operation["value"]["files"]["allowlist"] == ["/srv/a"]
    assert operation["value"]["files"]["read_only"] is True


def test_no_calls_at_all() -> None:
    """One is the smallest number that helps."""
    found = explained({"allow": ["time.now"], "limits": {"calls": 0}}, "time.now")
    assert patch_of(found) == [{"op": "add", "path": "/limits/calls", "value": 1}]


@pytest.mark.parametrize(
    ("capability", "payload", "why"),
    [
        ("files.raed", {"path": "x"}, "not registered"),
        ("math.add", {"a": "x", "b": 1}, "does not fit the schema"),
        ("files.read", {"path": "../x"}, "lies outside"),
        ("files.read", {"path": "/srv/../etc/passwd"}, "lies outside"),
        ("files.write", {"path": "/srv", "content": ""}, "names an allowed directory itself"),
    ],
)
def test_what_no_change_allows(capability: str, payload: dict[str, Any], why: str) -> None:
    """It is said, and nothing is suggested."""
    document = {
        "allow": ["files.*", "math.*"],
        "scopes": {"files": {"allowlist": ["/", "/srv"] if "names" in why else ["/srv"]}},
    }
    found = explained(document, capability, **payload)
    assert found.hopeless is not None
    assert why in found.hopeless
    assert (found.changes, found.policy) == ((), None)


def test_tests_that_the_change_would_break_are_named() -> None:
    """A policy whose own tests forbid the call says so."""
    document = {
        "allow": ["time.now"],
        "tests": [
            {"call": "time.now", "expect": "allow"},
            {"call": "math.add", "payload": {"a": 1, "b": 2}, "expect": "deny"},
        ],
    }
    assert explained(document, "math.add", a=1, b=2).breaks == (1,)


class Hosts(Scope):
    """A scope that knows how to refuse, and nothing that the tools ask."""

    hosts: list[str]

    def violation(self, function: str, payload: Any) -> Violation | None:
        return None if payload["host"] in self.hosts else Violation("hosts", "another host")


def test_a_scope_that_knows_no_change() -> None:
    """Then none is invented."""
    registry = CapabilityRegistry()
    registry.domain("web", scope=Hosts)

    @registry.capability("web.fetch", shown=("host",))
    async def fetch(host: str) -> str:
        return host

    request = Request("web.fetch", {"host": "b"})
    for document in ({"allow": ["web.fetch"]}, {"scopes": {"web": {"hosts": ["a"]}}}):
        found = explain(registry, loaded(document), request)
        assert found.hopeless is not None
