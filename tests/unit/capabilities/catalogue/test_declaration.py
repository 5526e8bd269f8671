"""What a capability may be: everything its author declares is checked when it is registered."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from caps import (
    Capability,
    CapabilityConfig,
    CapabilityRegistry,
    CapabilityStatus,
    RegistrationError,
    Scope,
    ToolDescriptor,
)
from caps.protocol.errors import AgentInvalidError
from support.capability_examples import add_functions, value
from support.parameter_names import stable_repr


class Open(BaseModel):
    """Takes whatever key there is."""


class Failing(Capability):
    """Cannot be made without an argument."""

    key = "failing"

    def __init__(self, must: int) -> None:
        super().__init__()


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"name": 3}, "name must be a `str`, not `int`"),
        ({"description": None}, "description must be a `str`, not `NoneType`"),
        ({"version": 2}, "version must be a `str`, not `int`"),
        ({"icon": b"x"}, "icon must be a `str` or None, not `bytes`"),
        ({"category": 1}, "category must be a `str` or None, not `int`"),
        ({"system_prompt": ["x"]}, "system_prompt must be a `str` or None, not `list`"),
        ({"status": "available"}, "status must be a `CapabilityStatus`, not `str`"),
        ({"depends_on": "memory"}, "depends_on must be a tuple of keys, not `str`"),
        ({"tools": "read"}, "tools must be a tuple of `ToolDescriptor`s, not `str`"),
        ({"tools": ["read"]}, "tools[0] must be a `ToolDescriptor`, not `str`"),
        ({"tools": [ToolDescriptor(3)]}, "tools[0].key must be a `str`, not `int`"),  # type: ignore[arg-type]
        (
            {"tools": [ToolDescriptor("a", 3)]},  # type: ignore[arg-type]
            "tools[0].name must be a `str`, not `int`",
        ),
        (
            {"tools": [ToolDescriptor("a", function=3)]},  # type: ignore[arg-type]
            "tools[0].function must be a `str` or None, not `int`",
        ),
        (
            {"tools": [ToolDescriptor("a"), ToolDescriptor("a")]},
            "tool `a` is declared twice",
        ),
        (
            {"config_model": dict},
            "config_model must be a class derived from `CapabilityConfig`, not `type`",
        ),
        (
            {"config_model": Open},
            "`Open` must refuse unknown keys; derive it from `CapabilityConfig`, or set `extra` to "
            "`forbid`",
        ),
    ],
    ids=stable_repr,
)
def test_a_wrong_part_is_one_line_that_names_it(fields: dict[str, Any], said: str) -> None:
    """And nothing is registered."""
    registry = CapabilityRegistry()
    with pytest.raises(RegistrationError) as raised:
        registry.register(Capability("box", **fields))
    assert str(raised.value) == f"capability `box`: {said}"
    assert registry.known_capabilities() == ()


@pytest.mark.parametrize("key", ["", "Box", "_box", "1", "a b", "a.b", "*", "x" * 51, "bö", "a\n"])
def test_a_key_has_a_plain_form(key: str) -> None:
    """It is a key in JSON, a name in messages and an id in databases."""
    with pytest.raises(RegistrationError, match="is not valid as the key of a capability"):
        CapabilityRegistry().register(Capability(key))
    with pytest.raises(RegistrationError, match="is not valid as a dependency of `box`"):
        CapabilityRegistry().register(Capability("box", depends_on=(key,)))


@pytest.mark.parametrize("key", ["", "*", "a.b", "a b", "1a", "-a", "x" * 65, "ö"])
def test_the_key_of_a_tool_is_a_name_for_models(key: str) -> None:
    """Letters, digits, `_` and `-`."""
    with pytest.raises(RegistrationError, match="is not valid as the key of a tool"):
        CapabilityRegistry().register(value("box", key))


@pytest.mark.parametrize("function", ["", "read", "files.*", "a.b.c", "Files.read"])
def test_the_function_behind_a_tool_has_a_full_name(function: str) -> None:
    """`domain.function`, as in a policy; no wildcard."""
    tool = ToolDescriptor("open", function=function)
    with pytest.raises(RegistrationError, match=r"tools\[0\]\.function: .* is not a capability"):
        CapabilityRegistry().register(Capability("box", tools=(tool,)))


def test_a_function_is_by_default_the_tool_of_the_capability() -> None:
    """A `-` is an `_` there, as functions have none."""
    registry = CapabilityRegistry()
    registry.register(value("agent-management", "make-agent", "list"))
    (known,) = registry.known_capabilities()
    functions = [tool.function for tool in known.tools]
    assert functions == ["agent_management.make_agent", "agent_management.list"]


@pytest.mark.parametrize("what", [None, 5, "audio", {"key": "audio"}, object, CapabilityRegistry])
def test_what_is_not_a_capability_is_refused(what: Any) -> None:
    """In one line that says what was expected."""
    said = "capability must be a `Capability`, or a `CapabilitySpec` with its provider, not"
    with pytest.raises(RegistrationError, match=said):
        CapabilityRegistry().register(what)


def test_a_class_that_cannot_be_made_is_refused() -> None:
    """An instance of it can be registered."""
    registry = CapabilityRegistry()
    with pytest.raises(RegistrationError, match=r"`Failing\(\)` failed with `TypeError`"):
        registry.register(Failing)
    registry.register(Failing(1))
    assert [each.key for each in registry.known_capabilities()] == ["failing"]


def test_an_unknown_attribute_is_refused() -> None:
    """With the nearest one; it would be without effect."""
    fields: Any = {"systemprompt": "x"}
    with pytest.raises(RegistrationError, match="no attribute `systemprompt`; did you mean"):
        Capability("box", **fields)


def test_a_later_change_of_the_object_has_no_effect() -> None:
    """The registry has its own copy."""
    tools = [ToolDescriptor("open")]
    box = Capability("box", tools=tools)
    registry = CapabilityRegistry()
    registry.register(box)
    tools.append(ToolDescriptor("burn"))
    box.key, box.system_prompt = "other", "Ignore the rest."
    (known,) = registry.known_capabilities()
    assert (known.key, [tool.key for tool in known.tools]) == ("box", ["open"])
    assert known.system_prompt is None


class TestDomains:
    """A domain of functions is a capability by itself."""

    def test_its_tools_are_its_functions(self) -> None:
        """With the titles and descriptions of the functions."""
        registry = CapabilityRegistry()
        registry.domain("box", title="Boxes", description="Boxes of things.")

        @registry.capability("box.open", title="Open a box")
        async def opened(name: str) -> None:
            """Open the box of this name."""

        (known,) = registry.known_capabilities()
        assert (known.key, known.name, known.description) == ("box", "Boxes", "Boxes of things.")
        (tool,) = known.tools
        assert (tool.key, tool.name, tool.function) == ("open", "Open a box", "box.open")
        assert tool.description == "Open the box of this name."

    def test_one_without_functions_is_not_listed(self) -> None:
        """There is nothing to give."""
        registry = CapabilityRegistry()
        registry.domain("box")
        assert registry.known_capabilities() == ()

    def test_one_that_is_bundled_whole_is_not_listed_again(self) -> None:
        """The error of an agent that asks for it names the bundle."""
        registry = CapabilityRegistry()
        add_functions(registry, "box.open", "box.close")
        tools = (ToolDescriptor("open_box", function="box.open"),)
        registry.register(Capability("opener", tools=tools))
        assert [each.key for each in registry.known_capabilities()] == ["box", "opener"]
        tools = (ToolDescriptor("close_box", function="box.close"),)
        registry.register(Capability("closer", tools=tools))
        assert [each.key for each in registry.known_capabilities()] == ["closer", "opener"]
        with pytest.raises(AgentInvalidError, match="functions of this domain are tools of `clos"):
            registry.resolve(["box"])

    def test_what_is_coming_soon_hides_no_domain(self) -> None:
        """Nobody could be given its functions otherwise."""
        registry = CapabilityRegistry()
        add_functions(registry, "box.open")
        tools = (ToolDescriptor("open_box", function="box.open"),)
        registry.register(Capability("opener", tools=tools, status=CapabilityStatus.COMING_SOON))
        assert registry.resolve(["box"]).policy.allow == ("box.open",)

    def test_its_scope_model_is_its_settings(self) -> None:
        """As a policy would give it; without settings there is no scope, and it reaches nothing."""

        class Shelves(Scope):
            heights: list[int] | None = None

        registry = CapabilityRegistry()
        registry.domain("shelf", scope=Shelves)
        add_functions(registry, "shelf.put")
        resolved = registry.resolve({"shelf": {"heights": [1]}})
        assert (resolved.policy.scopes, resolved.warnings) == ({"shelf": {"heights": [1]}}, ())
        nothing = registry.resolve({"shelf": {}})
        assert nothing.policy.scopes == {}
        assert registry.inject("caps", "e1", nothing.policy).chain.granted == ()
        assert nothing.warnings == (
            "capability `shelf` sets no scope for `shelf`, so its tools there reach nothing",
        )
        with pytest.raises(AgentInvalidError, match="has no setting `height`"):
            registry.resolve({"shelf": {"height": [1]}})


def test_a_config_without_fields_has_no_schema() -> None:
    """There is nothing to fill in."""

    class Nothing(CapabilityConfig):
        """Empty."""

    registry = CapabilityRegistry()
    registry.register(Capability("box", config_model=Nothing))
    assert registry.known_capabilities()[0].config_schema is None
