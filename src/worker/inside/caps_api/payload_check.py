"""(4) The check of a wrapper before it sends: whether the payload matches its schema.

It only helps user code, which gets an error at its own line and without a round trip. The broker
checks everything again with the full schema. So this check supports only the common keywords and
ignores all others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

_SHOWN_CHARACTERS = 80
_MAX_DEPTH = 32
_REQUIRED = "required property "
_UNKNOWN = "no property "
_BOUNDS = {
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minimum": "at least {}",
    "maximum": "at most {}",
}

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
# Keywords that check more than a type: of any value, a string, a number (a boolean is one, too).
_ANY_KEYWORDS = frozenset({"$ref", "enum"})
_STRING_KEYWORDS = frozenset({"minLength", "maxLength"})
_NUMBER_KEYWORDS = frozenset({"minimum", "maximum"})


class FastCheck:
    """The properties for which the type of a scalar is enough: a quick check of most payloads.

    If `fits` is True, `problems_in` finds nothing. If it is False, call `problems_in`.
    """

    __slots__ = ("_accepted", "_required")

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._required = frozenset(schema.get("required", ()))
        self._accepted: dict[str, frozenset[type]] = {}
        if _ANY_KEYWORDS.isdisjoint(schema) and schema.get("type", "object") == "object":
            for name, inner in schema.get("properties", {}).items():
                self._accepted[name] = _accepted_types(inner)

    def fits(self, payload: dict[str, Any]) -> bool:
        kinds = self._accepted
        for name, value in payload.items():
            if name not in kinds or type(value) not in kinds[name]:
                return False
        # An empty payload may belong to a schema that this class does not understand.
        return bool(payload) and payload.keys() >= self._required


def _accepted_types(schema: Any) -> frozenset[type]:
    """The types of scalars that match `schema` whatever their value."""
    if not isinstance(schema, dict) or not _ANY_KEYWORDS.isdisjoint(schema):
        return frozenset()
    declared = schema.get("type")
    names = [declared] if isinstance(declared, str) else declared
    kinds = _ANY_SCALAR
    if names is not None:
        kinds = frozenset(kind for name in names for kind in _SCALARS.get(name, ()))
    if not _STRING_KEYWORDS.isdisjoint(schema):
        kinds -= {str}
    if not _NUMBER_KEYWORDS.isdisjoint(schema):
        kinds -= {int, float, bool}
    return kinds


def bind(
    schema: Mapping[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, Any]:
    """The arguments as a payload; positional ones are assigned to the properties in order.

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
    """Where `value` does not match `schema`, by the common keywords."""
    if path.count(".") + path.count("[") > _MAX_DEPTH or not isinstance(schema, dict):
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


def in_words(problem: Problem) -> str:
    """A problem in the words of a call: the properties of a payload are its arguments."""
    path, expected = problem["path"], problem["expected"]
    if path == "$" and expected.startswith(_REQUIRED):
        return f"lacks {expected.removeprefix(_REQUIRED)}"
    if path == "$" and expected.startswith(_UNKNOWN):
        return f"has no argument {expected.removeprefix(_UNKNOWN)}"
    keyword, _, bound = expected.partition(" ")
    expected = _BOUNDS[keyword].format(bound) if keyword in _BOUNDS else expected
    return f"{path}: expected {expected}, got {problem['got']}"


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
        found.append(_problem(path, f"one of {_shorten(schema['enum'])}", value))
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
        _problem(path, f"{_REQUIRED}`{name}`", dict(value))
        for name in schema.get("required", ())
        if name not in value
    ]
    if schema.get("additionalProperties", True) is False:
        found += [
            _problem(path, f"{_UNKNOWN}`{name}`; known: {', '.join(properties) or 'none'}", item)
            for name, item in value.items()
            if name not in properties
        ]
    for name, item in value.items():
        if name in properties:
            found += problems_in(properties[name], item, root, f"{path}.{name}")
    return found


def _problem(path: str, expected: str, value: Any) -> Problem:
    return {"path": path, "expected": expected, "got": _shorten(value)}


def _shorten(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…"
