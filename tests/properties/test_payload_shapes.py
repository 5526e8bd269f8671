"""The quick check of a payload never passes what the full check would refuse."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from caps.worker.inside.caps_api.payload_check import FastCheck, problems_in

NAMES = st.sampled_from(["a", "b", "c"])
TYPES = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object", "?"])
BOUNDS = st.fixed_dictionaries(
    {},
    optional={
        "type": st.one_of(TYPES, st.lists(TYPES, max_size=3)),
        "enum": st.lists(st.integers(0, 2), max_size=2),
        "minLength": st.integers(0, 2),
        "maxLength": st.integers(0, 2),
        "minimum": st.integers(0, 2),
        "maximum": st.integers(0, 2),
        "$ref": st.sampled_from(["#/$defs/Text", "#/$defs/None"]),
        "description": st.just("whatever"),
    },
)
SCHEMAS = st.fixed_dictionaries(
    {"$defs": st.just({"Text": {"type": "string"}})},
    optional={
        "type": st.sampled_from(["object", "array", "string"]),
        "properties": st.dictionaries(NAMES, st.one_of(BOUNDS, st.booleans())),
        "required": st.lists(NAMES, max_size=2),
        "additionalProperties": st.booleans(),
        "enum": st.just([{}]),
        "$ref": st.just("#/$defs/Text"),
    },
)
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-1, 3),
    st.floats(0, 3),
    st.text(max_size=3),
    st.lists(st.integers(), max_size=1),
    st.dictionaries(NAMES, st.integers(), max_size=1),
)


@given(schema=SCHEMAS, payload=st.dictionaries(st.sampled_from(["a", "b", "c", "d"]), VALUES))
def test_what_fits_at_a_glance_has_no_problems(
    schema: dict[str, Any], payload: dict[str, Any]
) -> None:
    """Whatever the schema asks for, and also of what it does not name."""
    if FastCheck(schema).fits(payload):
        assert problems_in(schema, payload, schema) == []


def test_an_ordinary_payload_fits_at_a_glance() -> None:
    """Otherwise the check would be useless."""
    schema = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {}}, "required": []}
    assert FastCheck(schema).fits({"a": 1, "b": "x"})
    assert not FastCheck(schema).fits({"a": "1"})
