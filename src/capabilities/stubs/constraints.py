"""The constraints of a schema beyond its type, in words, for a docstring that a model reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from caps.capabilities.stubs.text import one_line

# With more values an enum is described in words, with a few examples.
MAX_LITERALS = 32

_WORDS: tuple[tuple[str, str], ...] = (
    ("minLength", "at least {} characters"),
    ("maxLength", "at most {} characters"),
    ("pattern", "matches `{}`"),
    ("format", "format {}"),
    ("minimum", "at least {}"),
    ("exclusiveMinimum", "more than {}"),
    ("maximum", "at most {}"),
    ("exclusiveMaximum", "less than {}"),
    ("multipleOf", "a multiple of {}"),
    ("minItems", "at least {} items"),
    ("maxItems", "at most {} items"),
    ("minProperties", "at least {} entries"),
    ("maxProperties", "at most {} entries"),
)


def describe_constraints(schema: Any, root: Mapping[str, Any]) -> str:
    """The description and the constraints of a schema, in one line; empty if there are none."""
    if not isinstance(schema, dict):
        return ""
    target = resolved(schema["$ref"], root) if "$ref" in schema else {}
    merged = {**(target if isinstance(target, dict) else {}), **schema}
    found = [one_line(str(merged["description"]))] if merged.get("description") else []
    for part in (merged, *_branches(merged)):
        found += [text.format(part[key]) for key, text in _WORDS if key in part]
        if part.get("uniqueItems"):
            found.append("no item twice")
        if len(part.get("enum", ())) > MAX_LITERALS:
            shown = ", ".join(repr(one) for one in part["enum"][:3])
            found.append(f"one of {len(part['enum'])}, such as {shown}")
    return one_line("; ".join(dict.fromkeys(found)))


def _branches(schema: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The schema of an optional value when it is not None; empty for a union of several types."""
    given = [one for one in schema.get("anyOf", ()) if one != {"type": "null"}]
    return [one for one in given if isinstance(one, dict)] if len(given) == 1 else []


def resolved(reference: str, root: Mapping[str, Any]) -> Any:
    """The target of a local reference; the empty schema (any value) if there is none."""
    node: Any = root
    for part in reference.removeprefix("#").split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if not isinstance(node, dict) or name not in node:
            return {}
        node = node[name]
    return node
