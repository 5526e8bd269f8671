"""An agent's object: whatever is wrong in it is one error that says where and what is right."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from caps import AgentInvalidError, Capability, CapabilityRegistry, ProviderError, ToolDescriptor
from caps.capabilities.catalogue.capability import CapabilityConfig
from support.capability_examples import example_registry
from support.parameter_names import stable_repr


@pytest.fixture(scope="module")
def registry() -> CapabilityRegistry:
    return example_registry()


DEEP: Any = 1
for _ in range(40):
    DEEP = [DEEP]

BAD: list[tuple[Any, str]] = [
    (None, "should be an object or an array, got null at `capabilities`"),
    ("memory", "should be an object or an array, got string at `capabilities`"),
    (5, "should be an object or an array, got number at `capabilities`"),
    (
        [3],
        "should be a string, got number at `capabilities[0]`; use an object to give a capability "
        "settings",
    ),
    (["memory", "memory"], "capability `memory` is listed twice at `capabilities[1]`"),
    (
        ["recall"],
        "there is no capability `recall` at `capabilities[0]`; there are "
        + ", ".join(f"`{each.key}`" for each in example_registry().known_capabilities()),
    ),
    (
        {"filse": {}},
        "there is no capability `filse` at `capabilities.filse`; did you mean `files`?",
    ),
    ({3: {}}, "keys should be strings, got `int` at `capabilities`"),
    (
        {"memory": None},
        "capability `memory`: should be an object, got null at `capabilities.memory`; write `{}` "
        "for a capability without settings",
    ),
    (
        {"memory": True},
        "capability `memory`: should be an object, got boolean at `capabilities.memory`; write "
        "`{}` for a capability without settings",
    ),
    (
        {"audio": {"tools": "transcribe"}},
        "capability `audio`: should be an array of tools, got string at `capabilities.audio.tools`",
    ),
    (
        {"audio": {"tools": None}},
        "capability `audio`: should be an array of tools, got null at `capabilities.audio.tools`",
    ),
    (
        {"audio": {"tools": ["speak", 3]}},
        "capability `audio`: should be a string, got number at `capabilities.audio.tools[1]`",
    ),
    (
        {"audio": {"tools": ["speak", "speak"]}},
        "capability `audio`: tool `speak` is listed twice at `capabilities.audio.tools[1]`",
    ),
    (
        {"audio": {"tools": ["x"]}},
        "capability `audio`: has no tool `x` at `capabilities.audio.tools[0]`; it has "
        "`transcribe`, `speak`",
    ),
    (
        {"audio": {"tools": ["*"]}},
        "capability `audio`: has no tool `*` at `capabilities.audio.tools[0]`; there are no "
        "wildcards: name each tool, or leave `tools` out for all of them",
    ),
    (
        {"audio": {"prefix": 1}},
        "capability `audio`: should be a string, got number at `capabilities.audio.prefix`",
    ),
    (
        {"audio": {"prefix": "a."}},
        "capability `audio`: `a.` is not a prefix: a letter, then letters, digits, `_` and `-`, at "
        "most 32 in all at `capabilities.audio.prefix`",
    ),
    (
        {"audio": {"langauge": "de"}},
        "capability `audio`: has no setting `langauge` at `capabilities.audio.langauge`; did you "
        "mean `language`?",
    ),
    (
        {"memory": {"x": 1}},
        "capability `memory`: has no setting `x` at `capabilities.memory.x`; it takes `tools`, "
        "`prefix`",
    ),
    (
        {"audio": {"language": 3}},
        "capability `audio`: should be a string, got number at `capabilities.audio.language`",
    ),
    ({"files": {}}, "capability `files`: missing key at `capabilities.files.dirs`"),
    (
        {"audio": {"language": {1}}},
        "should be JSON data, got `set` at `capabilities.audio.language`",
    ),
    ({"a": float("nan")}, "should be a finite number at `capabilities.a`"),
]


@pytest.mark.parametrize(("given", "said"), BAD, ids=stable_repr)
def test_each_mistake_is_one_line_with_its_place(
    registry: CapabilityRegistry, given: Any, said: str
) -> None:
    """The object is unchanged, and the error has the place as a detail."""
    before = copy.deepcopy(given)
    with pytest.raises(AgentInvalidError) as raised:
        registry.resolve(given)
    assert str(raised.value) == said
    assert str(raised.value.place) in said
    assert repr(given) == repr(before)


def test_deep_and_long_objects_are_refused(registry: CapabilityRegistry) -> None:
    """Before anything in them is looked up."""
    with pytest.raises(AgentInvalidError, match="nested deeper than 32 levels"):
        registry.resolve({"audio": {"language": DEEP}})
    with pytest.raises(AgentInvalidError, match="at most 256 capabilities at `capabilities`"):
        registry.resolve([f"a{number}" for number in range(257)])


def test_a_key_that_a_terminal_would_obey_is_escaped(registry: CapabilityRegistry) -> None:
    """Messages are one line, whatever the agent wrote."""
    with pytest.raises(AgentInvalidError) as raised:
        registry.resolve({"\x1b[2J\n" * 99: {}})
    assert str(raised.value).isprintable()
    assert len(str(raised.value)) < 1000


def test_a_prefixed_name_has_the_length_of_a_tool() -> None:
    """Models take no longer one."""
    registry = CapabilityRegistry()
    registry.register(Capability("box", tools=(ToolDescriptor("x" * 60),)))
    with pytest.raises(AgentInvalidError, match=r"is longer than 64 characters .* shorter prefix"):
        registry.resolve({"box": {"prefix": "boxes_"}})


class Raising(CapabilityConfig):
    """A model with a validator that fails in its own way."""

    x: int = 1

    def model_post_init(self, _context: Any, /) -> None:
        raise KeyError("secret")


def test_a_model_that_fails_is_a_fault_of_the_capability() -> None:
    """The text of its error is not shown."""
    registry = CapabilityRegistry()
    registry.register(Capability("box", config_model=Raising))
    with pytest.raises(ProviderError) as raised:
        registry.resolve({"box": {}})
    assert str(raised.value) == (
        "the settings of capability `box` could not be checked: its model failed with `KeyError`"
    )


def test_the_array_is_the_object_with_empty_entries(registry: CapabilityRegistry) -> None:
    """Both keep their order."""
    keys = ["tasks", "memory", "audio"]
    assert registry.resolve(keys) == registry.resolve({key: {} for key in keys})
