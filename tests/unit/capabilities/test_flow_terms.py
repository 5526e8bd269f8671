"""(3) Flow rules set against a registry: what they name must exist."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from caps import CapabilityRegistry
from caps.capabilities.provider import Scope, Violation
from caps.protocol.errors import PolicyInvalidError, RegistrationError


class ShelfScope(Scope):
    """A scope that gives one label, or breaks."""

    gives: str = "shelved"

    def violation(self, function: str, payload: Mapping[str, Any]) -> Violation | None:
        return None

    def possible_labels(self, function: str) -> frozenset[str]:
        return frozenset({self.gives})


@pytest.fixture
def registry() -> CapabilityRegistry:
    made = CapabilityRegistry()
    made.domain("shelf", scope=ShelfScope)

    @made.capability("mail.read", labels=("private", "mine"))
    async def read() -> str:
        return ""

    @made.capability("mail.send", egress=True)
    async def send(text: str) -> str:
        return text

    @made.capability("shelf.take")
    async def take() -> str:
        return ""

    return made


def refusal(registry: CapabilityRegistry, **policy: Any) -> tuple[str, str]:
    with pytest.raises(PolicyInvalidError) as caught:
        registry.bind({"allow": ["mail.*"], **policy})
    return caught.value.message, caught.value.details["place"]


def flow(after: list[str], **effect: list[str]) -> list[dict[str, Any]]:
    return [{"id": "f", "after": after, **(effect or {"deny": ["egress"]})}]


def test_a_specification_has_labels_and_egress(registry: CapabilityRegistry) -> None:
    """They are shown to whoever reads the registry, and checked when it is filled."""
    read, send, _ = registry.describe()
    assert (read["labels"], read["egress"]) == (["mine", "private"], False)
    assert (send["labels"], send["egress"]) == ([], True)
    wrongs: list[dict[str, Any]] = [{"labels": ("No",)}, {"labels": ("egress",)}, {"egress": 1}]
    for wrong in wrongs:
        with pytest.raises(RegistrationError, match="mail"):
            registry.capability("mail.drop", **wrong)(_drop)


async def _drop() -> str:
    return ""


@pytest.mark.parametrize(
    ("policy", "message", "place"),
    [
        ({"flows": flow(["privat"])}, "`privat`; did you mean `private`?", "after[0]"),
        ({"flows": flow(["private", "mail.raed"])}, "`mail.raed` is registered", "after[1]"),
        ({"flows": flow(["mial.*"])}, "`mial.*` is registered", "flows[0].after[0]"),
        ({"flows": flow(["private"], deny=["mail.sned"])}, "`mail.send`", "flows[0].deny[0]"),
        ({"flows": flow(["private"], approve=["x.y"])}, "`x.y`", "flows[0].approve[0]"),
        ({"labels": {"mail.raed": ["private"]}}, "`mail.read`", "labels.mail.raed"),
        ({"flows": flow(["shelved"])}, "nothing gives the label `shelved`", "flows[0].after[0]"),
    ],
)
def test_what_does_not_exist_is_an_error_that_names_the_nearest(
    registry: CapabilityRegistry, policy: dict[str, Any], message: str, place: str
) -> None:
    """A rule about a misspelt label would never apply."""
    found, where = refusal(registry, **policy)
    assert message in found
    assert where.endswith(place)


def test_labels_of_the_policy_and_of_its_scopes_are_known(registry: CapabilityRegistry) -> None:
    """And those that need no declaration."""
    registry.bind({"labels": {"mail.*": ["own"]}, "flows": flow(["own", "untrusted"])})
    registry.bind({"scopes": {"shelf": {}}, "flows": flow(["shelved"])})


def test_a_scope_that_cannot_say_its_labels_is_refused(registry: CapabilityRegistry) -> None:
    """Its policy does not come into force."""
    message, _ = refusal(registry, scopes={"shelf": {"gives": "Not A Label"}})
    assert "a scope cannot say its labels, `ValueError`" in message


def test_tests_of_a_policy_say_what_was_answered_before(registry: CapabilityRegistry) -> None:
    """By labels, or by functions, which stand for their labels, too."""
    base = {"allow": ["mail.*"], "flows": flow(["private"])}
    call = {"call": "mail.send", "payload": {"text": ""}}
    tests = [
        {**call, "expect": "allow"},
        {**call, "after": ["private"], "expect": "deny"},
        {**call, "after": ["mail.read"], "expect": "deny"},
        {**call, "after": ["mine"], "expect": "allow"},
    ]
    registry.bind({**base, "tests": tests})
    message, place = refusal(
        registry, **base, tests=[{**call, "after": ["mine"], "expect": "deny"}]
    )
    assert (place, "expected to deny and gave allow" in message) == ("tests[0]", True)
    wrong = {**call, "after": ["privat"], "expect": "deny"}
    assert refusal(registry, **base, tests=[wrong])[1] == "tests[0].after[0]"


def test_a_capability_has_the_rules_that_cover_it(registry: CapabilityRegistry) -> None:
    """Found once, when the policy is bound; without any there is nothing to check."""
    policy = {
        "allow": ["mail.*"],
        "flows": [
            {"id": "a", "after": ["private"], "deny": ["egress"]},
            {"id": "b", "after": ["mail.read", "mine"], "approve": ["mail.*"]},
        ],
    }
    terms = registry.bind(policy).terms
    assert [one.rule for one in terms["mail.send"].flows] == ["flows.a", "flows.b"]
    assert [one.asks for one in terms["mail.read"].flows] == [True]
    assert (terms["mail.read"].may_ask, terms["shelf.take"].may_ask) == (True, False)
    assert terms["mail.read"].labels == {"private", "mine"}
    assert registry.bind({"allow": ["mail.*"]}).terms["mail.send"].flows == ()
