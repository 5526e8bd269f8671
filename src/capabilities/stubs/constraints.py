"""What a schema says beyond a type, in words, for a docstring that a model reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from caps.capabilities.stubs.text import one_line

# Beyond so many a choice is told in words, with a few examples.
MOST_LITERALS = 32

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


def words(schema: Any, root: Mapping[str, Any]) -> str:
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
        if len(part.get("enum", ())) > MOST_LITERALS:
            shown = ", ".join(repr(one) for one in part["enum"][:3])
            found.append(f"one of {len(part['enum'])}, such as {shown}")
    return one_line("; ".join(dict.fromkeys(found)))


def _branches(schema: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What an optional value is when it is not None; of a real choice nothing is said."""
    given = [one for one in schema.get("anyOf", ()) if one != {"type": "null"}]
    return [one for one in given if isinstance(one, dict)] if len(given) == 1 else []


def resolved(reference: str, root: Mapping[str, Any]) -> Any:
    """What a local reference points to; any value, if to nothing."""
    node: Any = root
    for part in reference.removeprefix("#").split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if not isinstance(node, dict) or name not in node:
            return {}
        node = node[name]
    return node
