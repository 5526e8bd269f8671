"""Schemas on cards: they refer only to themselves, and do not explode."""

from __future__ import annotations

from typing import Any

import pytest

from caps.agents.tool_cards.card_schema import MAX_EXPANDED_NODES, check_schema
from caps.agents.tool_cards.errors import ToolCardError


def bomb(levels: int) -> dict[str, Any]:
    """Each definition refers twice to the next: 2**levels when it is expanded."""
    definitions: dict[str, Any] = {
        f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}, {"$ref": f"#/$defs/d{n + 1}"}]}
        for n in range(levels)
    }
    definitions[f"d{levels}"] = {"type": "string"}
    return {"$ref": "#/$defs/d0", "$defs": definitions}


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}},
        {"properties": {"$ref": {"type": "string"}}},
        {"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"$ref": "#/$defs/c~0"}, "c~": {}}},
        {
            "properties": {"a": {"$ref": "#/$defs/x"}, "b": {"$ref": "#/$defs/x"}},
            "$defs": {"x": {}},
        },
    ],
)
def test_a_schema_that_refers_to_itself_is_accepted(schema: dict[str, Any]) -> None:
    """By paths, and as often as it likes."""
    check_schema(schema, "input_schema")


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"$ref": "https://example.org/x.json"}, "refer only to itself"),
        ({"$ref": "file:///etc/passwd"}, "refer only to itself"),
        ({"$ref": "other.json#/$defs/a"}, "refer only to itself"),
        ({"items": {"$ref": "#/$defs/a"}}, "which it does not have"),
        ({"$ref": "#name"}, "write a path"),
        ({"$ref": "#"}, "refers to itself by `#`"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}}, "to itself"),
        (
            {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"not": {"$ref": "#/$defs/a"}}}},
            "refers to itself",
        ),
        ({"$id": "https://example.org/"}, "has `$id`"),
        ({"items": {"$anchor": "a"}}, "has `$anchor`"),
        ({"$dynamicRef": "#a"}, "has `$dynamicRef`"),
        (bomb(18), f"more than {MAX_EXPANDED_NODES} nodes"),
        ({"pattern": "(?=a)b"}, "not a valid JSON schema"),
    ],
)
def test_a_schema_that_explodes_or_reaches_out_is_refused(
    schema: dict[str, Any], message: str
) -> None:
    """Nothing is fetched, and the walk ends early."""
    with pytest.raises(ToolCardError) as raised:
        check_schema(schema, "input_schema")
    assert message in raised.value.message
    assert raised.value.message.startswith("`input_schema` ")


def test_a_chain_of_references_counts_as_depth() -> None:
    """Each step of it is a level for whoever expands it."""
    chain: dict[str, Any] = {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(100)}
    with pytest.raises(ToolCardError, match="deeper than"):
        check_schema({"$ref": "#/$defs/d0", "$defs": {**chain, "d100": {}}}, "output_schema")
