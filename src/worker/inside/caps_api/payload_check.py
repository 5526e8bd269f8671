"""(4) What a wrapper checks before it sends: that the payload fits the schema it was given.

This is a courtesy to the code, which learns of a slip without a round trip and with a line of its
own; the broker checks everything again with the full schema. So only the common keywords are known
here, and what is not known passes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

_SHOWN_CHARACTERS = 80
_DEEPEST = 32

Problem = dict[str, str]

_TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, (list, tuple)),
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: (
        (isinstance(value, int) and not isinstance(value, bool))
        or (isinstance(value, float) and value.is_integer())
    ),
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
}


_SCALARS: dict[str, frozenset[type]] = {
    "string": frozenset({str}),
    "integer": frozenset({int}),
    "number": frozenset({int, float}),
    "boolean": frozenset({bool}),
    "null": frozenset({type(None)}),
}
_ANY_SCALAR = frozenset(kind for kinds in _SCALARS.values() for kind in kinds)
# What asks for more than a type: of any value, of a text, of a number (a boolean is one, too).
_OF_ANY = frozenset({"$ref", "enum"})
_OF_TEXT = frozenset({"minLength", "maxLength"})
_OF_NUMBERS = frozenset({"minimum", "maximum"})


class Shape:
    """The scalars that a schema takes whatever their value, so that most payloads need one look.

    `fits` is True only where `problems_in` finds nothing; False means that it has to be asked.
    """

    __slots__ = ("_kinds", "_required")

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._required = frozenset(schema.get("required", ()))
        self._kinds: dict[str, frozenset[type]] = {}
        if _OF_ANY.isdisjoint(schema) and schema.get("type", "object") == "object":
            for name, inner in schema.get("properties", {}).items():
                self._kinds[name] = _settled_kinds(inner)

    def fits(self, payload: dict[str, Any]) -> bool:
        kinds = self._kinds
        for name, value in payload.items():
            if name not in kinds or type(value) not in kinds[name]:
                return False
        # An empty payload may come from a schema that nothing is known of.
        return bool(payload) and payload.keys() >= self._required


def _settled_kinds(schema: Any) -> frozenset[type]:
    """The types of scalars that fit `schema` for certain."""
    if not isinstance(schema, dict) or not _OF_ANY.isdisjoint(schema):
        return frozenset()
    declared = schema.get("type")
    names = [declared] if isinstance(declared, str) else declared
    kinds = _ANY_SCALAR
    if names is not None:
        kinds = frozenset(kind for name in names for kind in _SCALARS.get(name, ()))
    if not _OF_TEXT.isdisjoint(schema):
        kinds -= {str}
    if not _OF_NUMBERS.isdisjoint(schema):
        kinds -= {int, float, bool}
    return kinds


def bind(
    schema: Mapping[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, Any]:
    """Arguments as a payload; positional ones take the schema's properties in order.

    Raises TypeError as a Python call would.
    """
    names = list(schema.get("properties", ()))
    if len(args) > len(names):
        raise TypeError(f"takes at most {len(names)} positional arguments, {len(args)} given")
    payload = dict(zip(names, args, strict=False))
    for name, value in kwargs.items():
        if name in payload:
            raise TypeError(f"got two values for `{name}`")
        payload[name] = value
    return payload


def problems_in(schema: Any, value: Any, root: Mapping[str, Any], path: str = "$") -> list[Problem]:
    """What of `value` does not fit `schema`, as far as the common keywords tell."""
    if path.count(".") + path.count("[") > _DEEPEST or not isinstance(schema, dict):
        return []
    if "$ref" in schema:
        return problems_in(_resolve(schema["$ref"], root), value, root, path)
    wrong = _type_problem(schema, value, path)
    if wrong:
        return [wrong]
    found = _value_problems(schema, value, path)
    if isinstance(value, dict):
        found += _object_problems(schema, value, root, path)
    elif isinstance(value, (list, tuple)) and "items" in schema:
        for index, item in enumerate(value):
            found += problems_in(schema["items"], item, root, f"{path}[{index}]")
    return found


def _resolve(reference: str, root: Mapping[str, Any]) -> Any:
    node: Any = root
    for part in reference.removeprefix("#").split("/")[1:]:
        if not isinstance(node, dict) or part not in node:
            return {}
        node = node[part]
    return node


def _type_problem(schema: Mapping[str, Any], value: Any, path: str) -> Problem | None:
    declared = schema.get("type")
    if declared is None:
        return None
    names = [declared] if isinstance(declared, str) else list(declared)
    if any(_TYPES[name](value) for name in names if name in _TYPES):
        return None
    return _problem(path, f"type {' or '.join(names)}", value)


def _value_problems(schema: Mapping[str, Any], value: Any, path: str) -> list[Problem]:
    found = []
    if "enum" in schema and value not in schema["enum"]:
        found.append(_problem(path, f"one of {_brief(schema['enum'])}", value))
    if isinstance(value, str):
        if len(value) < schema.get("minLength", 0):
            found.append(_problem(path, f"minLength {schema['minLength']}", value))
        if len(value) > schema.get("maxLength", len(value)):
            found.append(_problem(path, f"maxLength {schema['maxLength']}", value))
    elif isinstance(value, (int, float)):
        if value < schema.get("minimum", value):
            found.append(_problem(path, f"minimum {schema['minimum']}", value))
        if value > schema.get("maximum", value):
            found.append(_problem(path, f"maximum {schema['maximum']}", value))
    return found


def _object_problems(
    schema: Mapping[str, Any], value: Mapping[str, Any], root: Mapping[str, Any], path: str
) -> list[Problem]:
    properties = schema.get("properties", {})
    found = [
        _problem(path, f"required property `{name}`", dict(value))
        for name in schema.get("required", ())
        if name not in value
    ]
    if schema.get("additionalProperties", True) is False:
        found += [
            _problem(path, f"no property `{name}`; known: {', '.join(properties) or 'none'}", item)
            for name, item in value.items()
            if name not in properties
        ]
    for name, item in value.items():
        if name in properties:
            found += problems_in(properties[name], item, root, f"{path}.{name}")
    return found


def _problem(path: str, expected: str, value: Any) -> Problem:
    return {"path": path, "expected": expected, "got": _brief(value)}


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…"
