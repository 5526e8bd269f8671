"""The context of resolvers: plain, immutable, checked."""

from __future__ import annotations

from typing import Any

import pytest

from caps import CapabilityRegistry, ConfigurationError, ResolverContext
from support.parameter_names import stable_repr


def test_a_context_cannot_be_changed() -> None:
    """Neither its fields nor what is in them, nor through what it was made of."""
    thread: dict[str, Any] = {"id": "t1", "tags": ["a", {"b": 1}]}
    ctx = ResolverContext(thread=thread, agent={"name": "Ada"}, callbacks={"send": print})
    thread["id"] = "t2"
    thread["tags"][1]["b"] = 2
    assert (ctx.thread["id"], ctx.thread["tags"]) == ("t1", ("a", {"b": 1}))
    changeable: Any = ctx
    with pytest.raises(AttributeError):
        changeable.agent_dir = "/elsewhere"
    inside: list[Any] = [ctx.thread, ctx.thread["tags"][1], ctx.agent, ctx.callbacks]
    for mapping in inside:
        with pytest.raises(TypeError):
            mapping["x"] = 1


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"agent_dir": 3}, "agent_dir must be a `str`, not `int`"),
        ({"workspace_dir": None}, "workspace_dir must be a `str`, not `NoneType`"),
        ({"thread": "t1"}, "thread must be a mapping, not `str`"),
        ({"agent": []}, "agent must be a mapping, not `list`"),
        ({"callbacks": [print]}, "callbacks must be a mapping, not `list`"),
        ({"callbacks": {"send": 3}}, "callbacks.send must be a function, not `int`"),
        ({"agent": {"a": {1}}}, "`agent.a` cannot be read: should be JSON data, got `set`"),
    ],
    ids=stable_repr,
)
def test_wrong_types_are_one_line(fields: dict[str, Any], said: str) -> None:
    """When it is made, not in a resolver."""
    with pytest.raises(ConfigurationError) as raised:
        ResolverContext(**fields)
    assert str(raised.value) == said


@pytest.mark.parametrize("ctx", [None, {}, "ctx", ResolverContext])
def test_only_a_context_is_taken(ctx: Any) -> None:
    """A dictionary would have no defined fields."""
    with pytest.raises(ConfigurationError, match="ctx must be a `ResolverContext`, not"):
        CapabilityRegistry().resolve({}, ctx)
