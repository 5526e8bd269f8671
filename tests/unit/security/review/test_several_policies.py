"""The review tools about several policies, of which each must allow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from caps.providers.builtin import builtin_registry
from caps.security.policies.load import LoadedPolicy
from caps.security.policy import SecurityPolicy
from caps.security.request import Request
from caps.security.review.explain import explain
from caps.security.review.lint_chain import lint_chain

REGISTRY = builtin_registry()


def loaded(**policy: Any) -> LoadedPolicy:
    return LoadedPolicy(SecurityPolicy.model_validate(policy), "policy.json", Path("/base"))


def files(name: str, *folders: str, **more: Any) -> LoadedPolicy:
    scopes = {"files": {"allowlist": list(folders)}}
    return loaded(id=name, allow=["files.*"], scopes=scopes, **more)


class TestExplain:
    def test_every_policy_that_refuses_is_changed_in_its_turn(self) -> None:
        """The result allows the call under all of them."""
        policies = [loaded(id="a", allow=["time.*"]), loaded(id="b", deny=["math.add"])]
        found = explain(REGISTRY, policies, Request("math.add", {"a": 1, "b": 2}))
        assert found.decision.policy_id == "a"
        assert [change.policy for change in found.changes] == ["a", "b", "b"]

    def test_a_relative_path_opens_its_place(self) -> None:
        """The ceiling gets the directory in which the last policy starts the path."""
        policies = [files("ceiling", "/srv"), files("own", "/data")]
        found = explain(REGISTRY, policies, Request("files.read", {"path": "x"}))
        (change,) = found.changes
        assert (change.policy, change.patch[0]["value"]) == ("ceiling", "/data")

    def test_tests_that_would_fail_are_those_of_the_changed_policy(self) -> None:
        """By its id."""
        test = {"call": "files.read", "payload": {"path": "/data/x"}, "expect": "deny"}
        policies = [files("ceiling", "/srv", tests=[test]), files("own", "/data", tests=[])]
        found = explain(REGISTRY, policies, Request("files.read", {"path": "/data/x"}))
        assert (found.breaks, found.breaks_of) == ((0,), ("ceiling",))

    def test_one_policy_is_not_named(self) -> None:
        """There is no other that could be meant."""
        found = explain(REGISTRY, loaded(id="a"), Request("time.now", {}))
        assert [change.policy for change in found.changes] == [None]


class TestLint:
    def test_policies_that_grant_nothing_together(self) -> None:
        """A warning; not if one of them grants nothing by itself."""
        first, second = (loaded(id=name, allow=[f"{name}.*"]) for name in ("time", "math"))
        found = lint_chain(REGISTRY, [first, second], written=[None, None])
        assert "nothing-together" in {one.code for one in found}
        empty = lint_chain(REGISTRY, [first, loaded(id="none")], written=[None, None])
        assert "nothing-together" not in {one.code for one in empty}

    def test_what_another_policy_withholds(self) -> None:
        """It is named, with the reason."""
        policies = [
            loaded(id="a", allow=["time.now"]),
            loaded(id="b", allow=["time.now", "math.add"]),
        ]
        found = lint_chain(REGISTRY, policies, written=[None, None])
        (one,) = [each for each in found if each.code == "withheld-by-another"]
        assert (one.policy, one.place) == ("b", "/allow/0")
        assert "`math.add` is allowed here and withheld by policy `a` (not_allowed)" in one.message

    def test_the_findings_of_each_name_it(self) -> None:
        """Also where one of them cannot be bound: the others are checked anyway."""
        policies = [loaded(id="a", allow=["tiem.now"]), loaded(id="b", allow=["time.*"])]
        found = lint_chain(REGISTRY, policies, written=[None, None])
        unknown = [each for each in found if each.code == "unknown-rule"]
        assert [each.policy for each in unknown] == ["a"]
        assert {each.policy for each in found} == {"a", "b"}
