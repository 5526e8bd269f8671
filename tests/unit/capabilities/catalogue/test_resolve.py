"""Resolution: what comes together, and what a resolver may not do."""

from __future__ import annotations

from typing import Any

import pytest

from caps import (
    AgentInvalidError,
    Capability,
    CapabilityRegistry,
    CapsError,
    ProviderError,
    ResolvedCapability,
    Scope,
    ToolDescriptor,
)
from caps.security.policies.load import load_policy
from support.capability_examples import add_functions, example_registry, value
from support.parameter_names import stable_repr


class Shelves(Scope):
    """A scope with one key."""

    heights: list[int]


@pytest.fixture
def registry() -> CapabilityRegistry:
    """`shelf`, which has a scope, and `box`, which has none."""
    made = CapabilityRegistry()
    made.domain("shelf", scope=Shelves)
    add_functions(made, "shelf.put", "shelf.take", "box.open")
    return made


def answering(registry: CapabilityRegistry, key: str, answer: Any, *functions: str) -> None:
    """Register a capability whose resolver returns, or raises, `answer`."""

    def resolve(_ctx: object, _config: object) -> Any:
        if isinstance(answer, BaseException):
            raise answer
        return answer

    tools = tuple(ToolDescriptor(each.replace(".", "_"), function=each) for each in functions)
    registry.register(Capability(key, tools=tools, resolver=resolve))


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (KeyError("secret"), "failed with `KeyError`"),
        (SystemExit("secret"), "failed with `SystemExit`"),
        ({}, "returned a `dict`, not a `ResolvedCapability`"),
        (True, "returned a `bool`, not a `ResolvedCapability`"),
        (
            ResolvedCapability(mcp_server={"a": {1}}),
            "returned what is not JSON at `mcp_server.a`: should be JSON data, got `set`",
        ),
        (
            ResolvedCapability(mcp_server=["npx"]),  # type: ignore[arg-type]
            "returned a `mcp_server` that is not an object",
        ),
        (
            ResolvedCapability(scopes=[]),  # type: ignore[arg-type]
            "returned a `scopes` that is not an object",
        ),
        (
            ResolvedCapability(scopes={"shelf": 1}),  # type: ignore[dict-item]
            "returned a scope of `shelf` that is not an object",
        ),
        (
            ResolvedCapability(scopes={"files": {"allowlist": ["/"]}}),
            "sets a scope for `files`, and none of its tools is of that domain",
        ),
        (
            ResolvedCapability(scopes={"box": {}}),
            "sets a scope for `box`, which takes no scope",
        ),
    ],
    ids=stable_repr,
)
def test_a_resolver_at_fault_is_named(registry: CapabilityRegistry, answer: Any, said: str) -> None:
    """It is an error of the host, and nothing is resolved."""
    answering(registry, "mine", answer, "shelf.put", "box.open")
    with pytest.raises(ProviderError) as raised:
        registry.resolve(["mine"])
    assert str(raised.value) == f"the resolver of capability `mine` {said}"


def test_a_resolver_may_refuse_in_its_own_words(registry: CapabilityRegistry) -> None:
    """By raising an error of Caps."""
    answering(registry, "mine", AgentInvalidError("the agent has no mailbox"))
    with pytest.raises(AgentInvalidError, match=r"^the agent has no mailbox$"):
        registry.resolve(["mine"])


def test_a_tool_needs_a_function_or_a_server(registry: CapabilityRegistry) -> None:
    """A tool of a server alone is listed, and the policy does not name it."""
    answering(registry, "mine", ResolvedCapability(), "far.away")
    with pytest.raises(ProviderError, match=r"`far\.away` is not registered, and there is no MCP"):
        registry.resolve(["mine"])
    answering(registry, "served", ResolvedCapability(mcp_server={"url": "x"}), "far.away")
    resolved = registry.resolve(["served"])
    assert [(tool.key, tool.schema) for tool in resolved.tools] == [("far_away", None)]
    assert resolved.policy.allow == ()


class TestScopes:
    def given(self, *heights: int) -> ResolvedCapability:
        return ResolvedCapability(scopes={"shelf": {"heights": list(heights)}})

    def test_capabilities_that_share_a_domain_agree_about_its_scope(
        self, registry: CapabilityRegistry
    ) -> None:
        """Then the scope is theirs."""
        answering(registry, "one", self.given(1), "shelf.put")
        answering(registry, "two", self.given(1), "shelf.take")
        resolved = registry.resolve(["one", "two"])
        assert resolved.policy.scopes == {"shelf": {"heights": [1]}}

    @pytest.mark.parametrize("scoped", [True, False])
    def test_one_does_not_lend_its_scope_to_the_function_of_another(
        self, registry: CapabilityRegistry, scoped: bool
    ) -> None:
        """Neither alone could take from shelf 1; together they cannot, either."""
        answering(registry, "one", self.given(1), "shelf.put")
        other = self.given(2) if scoped else ResolvedCapability()
        answering(registry, "two", other, "shelf.take")
        with pytest.raises(AgentInvalidError) as raised:
            registry.resolve(["one", "two"])
        assert str(raised.value) == (
            "capabilities `one` and `two` both use the domain `shelf`, under different scopes, at "
            "`capabilities[1]`"
        )

    def test_the_scope_of_a_domain_without_a_tool_is_left_out(
        self, registry: CapabilityRegistry
    ) -> None:
        """The policy says only what is used."""
        answering(registry, "one", self.given(1), "shelf.put", "box.open")
        resolved = registry.resolve({"one": {"tools": ["box_open"]}})
        assert (resolved.policy.allow, resolved.policy.scopes) == (("box.open",), {})

    def test_a_policy_that_does_not_fit_the_scope_model_is_refused_when_it_is_bound(
        self, registry: CapabilityRegistry
    ) -> None:
        """As any other policy."""
        answering(registry, "one", ResolvedCapability(scopes={"shelf": {"x": 1}}), "shelf.put")
        resolved = registry.resolve(["one"])
        with pytest.raises(CapsError, match=r"scopes\.shelf"):
            registry.bind(resolved.policy)


def test_the_policy_is_one_that_any_runtime_takes() -> None:
    """It binds, and grants the functions of the tools."""
    registry = example_registry()
    agent = {"current_time": {}, "files": {"dirs": ["/data"], "tools": ["read_file", "stat_file"]}}
    policy = registry.resolve(agent).policy
    assert load_policy(policy).policy.id == "agent-capabilities"
    assert registry.bind(policy).granted == ("files.read", "files.stat", "time.now")


def test_what_depends_on_a_skipped_capability_is_skipped(registry: CapabilityRegistry) -> None:
    """Its resolver is not called."""
    answering(registry, "base", None)
    registry.register(Capability("upper", depends_on=("base",), resolver=never))
    registry.register(Capability("top", depends_on=("upper",), resolver=never))
    assert registry.resolve(["top", "upper", "base"]).skipped == ("top", "upper", "base")


def never(_ctx: object, _config: object) -> ResolvedCapability:
    raise AssertionError


def test_a_dependency_that_nobody_registered_is_named(registry: CapabilityRegistry) -> None:
    """There is nothing to add to the object."""
    registry.register(value("mine", depends_on=("gone",)))
    with pytest.raises(AgentInvalidError, match="`mine` depends on `gone`, which is not regist"):
        registry.resolve(["mine"])


def test_a_cycle_among_others_is_found_too(registry: CapabilityRegistry) -> None:
    """Also a capability that depends on itself."""
    registry.register(value("me", depends_on=("me",)))
    registry.register(value("mine", depends_on=("me",)))
    with pytest.raises(AgentInvalidError, match="form a cycle, `me` -> `me`, at `capabilities`"):
        registry.resolve(["mine"])


def test_a_result_cannot_change_the_registry() -> None:
    """The schema of a tool is a copy."""
    registry = example_registry()
    (tool,) = registry.resolve({"current_time": {}}).tools
    schema: Any = tool.schema
    schema.clear()
    assert registry.resolve({"current_time": {}}).tools[0].schema != {}


def test_a_long_agent_is_ordered_without_deep_recursion(registry: CapabilityRegistry) -> None:
    """A chain of as many dependencies as an agent may list."""
    for number in range(256):
        needs = (f"c{number + 1}",) if number < 255 else ()
        registry.register(value(f"c{number}", depends_on=needs))
    assert len(registry.resolve([f"c{number}" for number in range(256)]).versions) == 256
