"""Whatever a schema says, its stubs are Python."""

from __future__ import annotations

import ast
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from caps import CapabilityRegistry, CapabilitySpec
from caps.capabilities.stubs.render import render
from support.hypothesis_examples import examples

EXAMPLES = examples(100)

texts = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=12)
names = texts | st.sampled_from(
    ["self", "class", "items", "str", "list", "Record", "Caps", "__x", "_y", "type: int", "a b"]
)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts
words = st.fixed_dictionaries(
    {},
    optional={
        "title": names,
        "description": texts,
        "default": scalars,
        "minLength": st.integers(0, 9),
        "maximum": st.integers(),
        "nullable": st.booleans(),
    },
)


def joined(parts: tuple[dict[str, Any], dict[str, Any]]) -> dict[str, Any]:
    return {**parts[0], **parts[1]}


leaves: st.SearchStrategy[Any] = (
    st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object"]).map(
        lambda kind: {"type": kind}
    )
    | st.lists(scalars, min_size=1, max_size=40, unique_by=repr).map(lambda held: {"enum": held})
    | scalars.map(lambda held: {"const": held})
    | st.sampled_from(["#/$defs/one", "#/$defs/two", "#/$defs/gone"]).map(
        lambda place: {"$ref": place}
    )
    | st.just({})
)
inner: st.SearchStrategy[Any] = st.booleans() | st.recursive(
    st.tuples(words, leaves).map(joined),
    lambda held: st.tuples(
        words,
        st.lists(held, min_size=1, max_size=3).map(lambda many: {"anyOf": many})
        | held.map(lambda one: {"type": "array", "items": one})
        | held.map(lambda one: {"type": "object", "additionalProperties": one})
        | st.dictionaries(names, held, min_size=1, max_size=4).map(
            lambda fields: {"type": "object", "properties": fields}
        ),
    ).map(joined),
    max_leaves=6,
)
definitions = st.fixed_dictionaries({"one": inner, "two": inner})


@st.composite
def schemas(draw: st.DrawFn) -> dict[str, Any]:
    fields = draw(st.dictionaries(names, inner, max_size=4))
    needed = draw(st.lists(st.sampled_from(sorted(fields)), unique=True)) if fields else []
    return {
        **draw(words),
        "type": "object",
        "properties": fields,
        "required": needed,
        "$defs": {**draw(definitions), "gone": {}},
    }


@EXAMPLES
@given(schema_in=schemas(), schema_out=schemas(), description=texts)
def test_the_stubs_of_any_schema_are_python(
    schema_in: dict[str, Any], schema_out: dict[str, Any], description: str
) -> None:
    """They parse, they can be encoded, and the capability is in them by its name."""
    registry = CapabilityRegistry()
    spec = CapabilitySpec(
        name="store.list", schema_in=schema_in, schema_out=schema_out, description=description
    )
    registry.register(spec, lambda _context, _payload: None)
    text = render(registry.bind({"allow": ["store.*"]}), domains=registry.domains)
    text.encode()
    (method,) = [
        node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.AsyncFunctionDef)
    ]
    assert method.name == "list"
    assert text == render(registry.bind({"allow": ["store.*"]}), domains=registry.domains)
