"""Validation of plans against a registry, tool cards and policies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from caps import CapabilityRegistry, ToolDescriptor
from caps.agents.plans.fitting import Comparison
from caps.agents.plans.plan import plan_of
from caps.agents.plans.problems import PlanCode, PlanInvalidError
from caps.agents.plans.schemas import Presence, Schema, pointed
from caps.agents.plans.validate import CheckedPlan, validate
from caps.capabilities.catalogue.capability import Capability
from caps.capabilities.registration import CardTerms
from caps.security.scopes import Scope, Violation

ALL: dict[str, Any] = {"id": "all", "allow": ["shop.*", "mail.*", "docs.*"]}


class DocsScope(Scope):
    """Documents whose name begins with `hr/` are private; those with `top/` are out of reach."""

    open: bool = True

    def violation(self, function: str, payload: Mapping[str, Any]) -> Violation | None:
        outside = str(payload["path"]).startswith("top/")
        return Violation("open", f"`{function}` may not reach it") if outside else None

    def labels_for(self, function: str, payload: Mapping[str, Any]) -> frozenset[str]:
        secret = function == "read" and str(payload["path"]).startswith("hr/")
        return frozenset({"private"} if secret else ())

    def possible_labels(self, function: str) -> frozenset[str]:
        return frozenset({"private"} if function == "read" else ())


@pytest.fixture
def registry() -> CapabilityRegistry:
    made = CapabilityRegistry()
    made.domain("docs", scope=DocsScope)

    @made.capability("shop.search", labels=("untrusted",))
    async def search(query: str, limit: int = 10) -> dict[str, list[str]]:
        return {"found": [query] * limit}

    @made.capability("shop.price")
    async def price(name: str) -> float:
        return float(len(name))

    @made.capability("mail.send", egress=True, tags={"changes"})
    async def send(to: str, text: str) -> None: ...

    @made.capability("docs.read")
    async def read(path: str) -> str:
        return path

    made.register(
        Capability("market", name="Market", tools=(ToolDescriptor("find", function="shop.search"),))
    )
    return made


def step(id_: str, tool: str, /, **inputs: Any) -> dict[str, Any]:
    return {"id": id_, "tool": tool, "inputs": inputs}


def checked(
    registry: CapabilityRegistry, *steps: dict[str, Any], policy: Any = ALL, **more: Any
) -> CheckedPlan:
    plan = plan_of({"version": 1, "id": "p", "steps": list(steps), **more})
    return validate(plan, registry, registry.chain(policy))


def told(found: CheckedPlan) -> list[tuple[str | None, str, str, bool]]:
    return [(each.step, each.code.value, each.path, each.warning) for each in found.problems]


SEARCH = step("a", "shop.search", query="tea")
SEND = step("b", "mail.send", to="ada", text="hello")


def test_a_plan_without_problems_is_ready_to_run(registry: CapabilityRegistry) -> None:
    """Tools by function, by capability, and by an agent type that has only one."""
    price = step("c", "shop.price", name={"$from": "a", "at": "/found/0"})
    by_type = {"id": "d", "agent_type": "mail", "inputs": {"to": "ada", "text": "x"}}
    found = checked(registry, step("a", "market.find", query="tea"), price, by_type)
    assert told(found) == [("c", "type_mismatch", "steps[1].inputs.name.at", True)]
    assert [each.function for each in found.steps] == ["shop.search", "shop.price", "mail.send"]
    found.require_valid()


def test_tools_that_do_not_exist_come_with_the_nearest(registry: CapabilityRegistry) -> None:
    """A function, a tool of a capability, an agent type; one with several tools is ambiguous."""
    steps = [step("a", "shop.serch"), step("b", "market.fnd")]
    steps += [{"id": "c", "agent_type": "mial"}, {"id": "d", "agent_type": "shop"}]
    found = checked(registry, *steps)
    assert told(found) == [
        ("a", "tool_unknown", "steps[0].tool", False),
        ("b", "tool_unknown", "steps[1].tool", False),
        ("c", "agent_type_unknown", "steps[2].agent_type", False),
        ("d", "agent_type_ambiguous", "steps[3].agent_type", False),
    ]
    hints = [each.message.partition("; ")[2] for each in found.problems]
    assert hints[:3] == [
        "did you mean `shop.search`?",
        "did you mean `market.find`?",
        "did you mean `mail`?",
    ]
    assert "`shop.price`, `shop.search`" in hints[3]
    with pytest.raises(PlanInvalidError, match=r"and 3 more"):
        found.require_valid()


def test_an_agent_type_is_that_of_the_card_in_force(registry: CapabilityRegistry) -> None:
    """The domain counts only for functions without a card."""
    registry.use_cards({"shop.price": CardTerms(agent_type="accounting")})
    steps = [{"id": "a", "agent_type": "accounting", "inputs": {"name": "tea"}}]
    steps.append({"id": "b", "agent_type": "shop", "inputs": {"query": "tea"}})
    found = checked(registry, *steps)
    assert [each.function for each in found.steps] == ["shop.price", "shop.search"]
    assert found.problems == ()


def test_inputs_that_do_not_fit_are_listed_one_by_one(registry: CapabilityRegistry) -> None:
    """Missing, unknown and of a wrong type; also next to references."""
    found = checked(
        registry,
        step("a", "shop.search", query=1, limit="many", more=0),
        step("b", "shop.search"),
        step("c", "shop.search", query={"$from": "a", "at": "/found"}, limit="x"),
    )
    assert {each[:3] for each in told(found)} >= {
        ("a", "input_invalid", "steps[0].inputs.query"),
        ("a", "input_invalid", "steps[0].inputs.limit"),
        ("b", "input_invalid", "steps[1].inputs"),
        ("c", "type_mismatch", "steps[2].inputs.query"),
        ("c", "input_invalid", "steps[2].inputs.limit"),
    }


def test_references_to_unknown_later_and_circular_steps(registry: CapabilityRegistry) -> None:
    """Each is told from the others; an id that is used twice is named."""
    found = checked(
        registry,
        step("a", "shop.price", name={"$from": "c"}),
        step("b", "shop.price", name={"$from": "e"}),
        step("c", "shop.price", name={"$from": "a"}),
        step("d", "shop.price", name={"$from": "d"}),
        step("e", "shop.price", name={"$from": "nowhere"}),
        step("e", "shop.price", name="x"),
    )
    errors = [(each.step, each.code.value) for each in found.errors]
    assert errors == [
        ("a", "step_cycle"),
        ("b", "step_later"),
        ("c", "type_mismatch"),
        ("d", "step_cycle"),
        ("e", "step_unknown"),
        ("e", "step_repeated"),
    ]


def test_what_the_policies_withhold_is_found(registry: CapabilityRegistry) -> None:
    """By any policy of the chain; side effects are named; an approval is a warning."""
    narrow = {"id": "narrow", "allow": ["shop.search", "mail.*"], "approve": ["mail.*"]}
    found = checked(registry, SEARCH, step("p", "shop.price", name="x"), SEND, policy=[ALL, narrow])
    assert told(found) == [
        ("p", "not_granted", "steps[1]", False),
        ("b", "approval_needed", "steps[2]", True),
    ]
    closed = checked(registry, SEND, policy={"id": "closed", "allow": ["shop.*"]})
    assert closed.problems[0].code is PlanCode.SIDE_EFFECT_FORBIDDEN
    assert closed.problems[0].message.endswith("its side effects: changes, network")
    registry.refuse_uncarded(["mail.send"])
    assert told(checked(registry, SEND))[0][1] == "side_effect_forbidden"


def test_a_flow_rule_that_the_order_would_break(registry: CapabilityRegistry) -> None:
    """The same steps in another order are fine; a rule that asks is a warning."""
    rule = {"id": "closed", "after": ["untrusted"], "deny": ["egress"]}
    policy = {**ALL, "flows": [rule]}
    assert told(checked(registry, SEARCH, SEND, policy=policy)) == [
        ("b", "flow_denied", "steps[1]", False)
    ]
    assert checked(registry, SEND, SEARCH, policy=policy).problems == ()
    asks = {"id": "ask", "after": ["shop.*"], "approve": ["mail.send"]}
    found = checked(registry, SEARCH, SEND, policy={**ALL, "flows": [asks]})
    assert told(found) == [("b", "approval_needed", "steps[1]", True)]


def test_labels_by_arguments_are_certain_only_if_these_are_known(
    registry: CapabilityRegistry,
) -> None:
    """A reference may be a private path, so that the rule may apply."""
    rule = {"id": "closed", "after": ["private"], "deny": ["egress"]}
    policy = {**ALL, "flows": [rule], "scopes": {"docs": {"open": True}}}
    secret, menu = step("a", "docs.read", path="hr/pay"), step("a", "docs.read", path="menu")
    assert told(checked(registry, secret, SEND, policy=policy))[-1][1:] == (
        "flow_denied",
        "steps[1]",
        False,
    )
    assert checked(registry, menu, SEND, policy=policy).problems == ()
    unknown = step("c", "docs.read", path={"$from": "a"})
    found = checked(registry, menu, unknown, SEND, policy=policy)
    assert told(found) == [("b", "flow_denied", "steps[2]", True)]


def test_known_inputs_outside_a_scope_are_found(registry: CapabilityRegistry) -> None:
    """Those that come from another step are decided when it runs."""
    policy = {**ALL, "scopes": {"docs": {"open": True}}}
    first = step("a", "docs.read", path="top/secret")
    found = checked(registry, first, step("b", "docs.read", path={"$from": "a"}), policy=policy)
    assert told(found) == [("a", "scope_violated", "steps[0].inputs", False)]


def test_a_cost_above_the_budget_is_found_at_the_step_that_exceeds_it(
    registry: CapabilityRegistry,
) -> None:
    """By the plan's own budget, or the lower limit of a policy; a tenth three times is 0.3."""
    registry.use_cards({"shop.price": CardTerms(agent_type="shop", cost_estimate=0.1)})
    steps = [step(name, "shop.price", name="tea") for name in "abc"]
    exact = checked(registry, *steps, budget=0.3)
    assert (exact.problems, exact.cost) == ((), 0.3)
    assert told(checked(registry, *steps, budget=0.2)) == [
        ("c", "budget_exceeded", "steps[2]", False)
    ]
    limited = {**ALL, "limits": {"cost": 0.1}}
    found = checked(registry, *steps, budget=0.2, policy=limited)
    assert told(found) == [("b", "budget_exceeded", "steps[1]", False)]
    assert found.problems[0].message == "the steps up to this one cost 0.2, over the budget of 0.1"
    few = checked(registry, *steps, policy={**ALL, "limits": {"calls": 2}})
    assert told(few) == [("c", "limit_exceeded", "steps[2]", False)]


def test_schemas_that_refer_to_themselves_take_a_bounded_time() -> None:
    """They are left open, and nothing is refused for it."""
    node = {"anyOf": [{"$ref": "#/$defs/n"}, {"$ref": "#/$defs/n"}, {"type": "string"}]}
    tree: dict[str, Any] = {"$defs": {"n": node}, "$ref": "#/$defs/n"}
    source = Schema(tree, tree)
    assert not any(each.certain for each in Comparison().findings(source, source, "$"))
    assert pointed(source, ("a", "b")).presence is not Presence.CERTAIN


def test_a_plan_with_very_many_references_or_values_takes_a_bounded_time(
    registry: CapabilityRegistry,
) -> None:
    """Too many references are refused; too many values are left to the run."""
    many = [{"$from": "a", "at": "/found/0"}] * 1100
    found = checked(registry, SEARCH, step("b", "mail.send", to="x", text=many))
    assert told(found)[-1][:2] == ("b", "reference_malformed")
    deep = {"$from": "a", "at": "/found" + "/0" * 64}
    assert told(checked(registry, SEARCH, step("b", "mail.send", to="x", text=deep)))[0][1] == (
        "reference_malformed"
    )
    values = [{"$from": "a"}, *({"n": number} for number in range(30_000))]
    made = checked(registry, SEARCH, step("b", "mail.send", to="x", text=values))
    assert ("b", "type_mismatch") not in {each[:2] for each in told(made)}
    assert made.errors
