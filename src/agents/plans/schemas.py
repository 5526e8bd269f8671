"""Schemas of values that are not known yet: the output of a step, and inputs made of outputs.

A `Schema` is a node with the document that its references point into. A node that is made here may
have whole `Schema`s in the places of its parts, since each keeps its own document.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from caps.agents.plans.inputs import Data, ListOf, ObjectOf, Reference, Template, index_of

ALL_TYPES: Final = ("null", "boolean", "object", "array", "number", "string")
_MAX_VISITED: Final = 2_000
_MAX_DEPTH: Final = 64


class Schema(msgspec.Struct, frozen=True):
    """What is known of a value."""

    node: Any
    root: Any = None

    def part(self, node: Any) -> Schema:
        """A part of it, which may be a schema of another document."""
        return node if isinstance(node, Schema) else Schema(node, self.root)

    @property
    def fields(self) -> Mapping[str, Any]:
        """Its keywords; empty for `true` and `false`."""
        return self.node if isinstance(self.node, dict) else {}

    @property
    def is_never(self) -> bool:
        return self.node is False

    def without(self, *keys: str) -> Schema:
        return Schema({k: v for k, v in self.fields.items() if k not in keys}, self.root)

    def branches(self, key: str) -> list[Schema]:
        return [self.part(each) for each in self.fields.get(key, ())]

    @property
    def types(self) -> tuple[str, ...]:
        given = self.fields.get("type", ALL_TYPES)
        return (given,) if isinstance(given, str) else tuple(given)

    def target(self) -> Schema:
        """What its `$ref` refers to; `true` if that cannot be found."""
        node, reference = self.root, str(self.fields.get("$ref", ""))
        if reference != "#" and not reference.startswith("#/"):
            return ANYTHING
        for token in reference.split("/")[1:]:
            name = token.replace("~1", "/").replace("~0", "~")
            if not isinstance(node, dict) or name not in node:
                return ANYTHING
            node = node[name]
        return Schema(node, self.root)

    def property_of(self, name: str) -> Schema:
        """What is known of a property if it is there; `false` if it cannot be."""
        if name in (known := self.fields.get("properties", {})):
            return self.part(known[name])
        if self.fields.get("patternProperties"):
            return ANYTHING
        return self.part(self.fields.get("additionalProperties", True))

    def item(self, index: int) -> Schema:
        """What is known of an item if it is there; `false` if it cannot be."""
        first = self.fields.get("prefixItems", ())
        if index >= self.fields.get("maxItems", index + 1):
            return NOTHING
        return self.part(first[index] if index < len(first) else self.fields.get("items", True))


ANYTHING: Final = Schema(True)
NOTHING: Final = Schema(False)


class Presence(enum.Enum):
    """Whether a value has the place that a pointer names."""

    CERTAIN = "certain"
    POSSIBLE = "possible"
    IMPOSSIBLE = "impossible"


class Found(msgspec.Struct, frozen=True):
    """What a pointer finds in every value of a schema."""

    schema: Schema
    presence: Presence
    doubted: int | None = None
    """The index of the first token that may find nothing."""


_ABSENT: Final = Found(NOTHING, Presence.IMPOSSIBLE)


def schema_of(template: Template, outputs: Mapping[str, Schema]) -> Schema:
    """What is known of inputs; a reference to a step that is not in `outputs` may be anything."""
    match template:
        case Data(value):
            return Schema({"const": value})
        case Reference(step, at, _):
            return pointed(outputs.get(step, ANYTHING), at).schema
        case ObjectOf(fields):
            return Schema(
                {
                    "type": "object",
                    "properties": {key: schema_of(item, outputs) for key, item in fields.items()},
                    "required": list(fields),
                    "additionalProperties": False,
                }
            )
        case ListOf(items):
            return Schema(
                {
                    "type": "array",
                    "prefixItems": [schema_of(item, outputs) for item in items],
                    "items": False,
                    "minItems": len(items),
                    "maxItems": len(items),
                }
            )


def pointed(schema: Schema, at: Iterable[str]) -> Found:
    """What the pointer finds in values of `schema`, and whether it finds anything."""
    presence, doubted = Presence.CERTAIN, None
    for index, token in enumerate(at):
        step = _Pointing(token).within(schema, 0)
        if step.presence is Presence.IMPOSSIBLE:
            return Found(NOTHING, step.presence, index)
        if step.presence is Presence.POSSIBLE and doubted is None:
            presence, doubted = step.presence, index
        schema = step.schema
    return Found(schema, presence, doubted)


def names_in(schema: Schema) -> Mapping[str, Any]:
    """The properties that are declared."""
    for _ in range(_MAX_DEPTH):
        schema = schema.target() if "$ref" in schema.fields else schema
    known: Mapping[str, Any] = schema.fields.get("properties", {})
    return known


class _Pointing:
    """Looks for one token of a pointer, for a bounded time."""

    def __init__(self, token: str) -> None:
        self._token = token
        self._left = _MAX_VISITED

    def within(self, schema: Schema, depth: int) -> Found:
        self._left -= 1
        if depth > _MAX_DEPTH or self._left < 0:
            return Found(ANYTHING, Presence.POSSIBLE)
        if schema.is_never:
            return _ABSENT
        fields = schema.fields
        if "const" in fields:
            return _in_value(fields["const"], self._token)
        if "enum" in fields:
            return _one_of([_in_value(value, self._token) for value in fields["enum"]])
        parts = [_by_type(schema, self._token)]
        if "$ref" in fields:
            parts.append(self.within(schema.target(), depth + 1))
        for key in ("anyOf", "oneOf"):
            if key in fields:
                branches = schema.branches(key)
                parts.append(_one_of([self.within(each, depth + 1) for each in branches]))
        parts += [self.within(each, depth + 1) for each in schema.branches("allOf")]
        return _all_of(parts)


def _in_value(value: Any, token: str) -> Found:
    index = index_of(token)
    if isinstance(value, dict) and token in value:
        return Found(Schema({"const": value[token]}), Presence.CERTAIN)
    if isinstance(value, list) and index is not None and index < len(value):
        return Found(Schema({"const": value[index]}), Presence.CERTAIN)
    return _ABSENT


def _by_type(schema: Schema, token: str) -> Found:
    found: list[Found] = []
    index, fields = index_of(token), schema.fields
    if "object" in schema.types:
        certain = token in fields.get("required", ())
        found.append(_placed(schema.property_of(token), certain=certain))
    if "array" in schema.types and index is not None:
        found.append(_placed(schema.item(index), certain=index < fields.get("minItems", 0)))
    others = len(schema.types) > len(found)
    return _one_of([*found, _ABSENT] if others else found)


def _placed(schema: Schema, *, certain: bool) -> Found:
    if schema.is_never:
        return _ABSENT
    return Found(schema, Presence.CERTAIN if certain else Presence.POSSIBLE)


def _one_of(found: list[Found]) -> Found:
    possible = [each for each in found if each.presence is not Presence.IMPOSSIBLE]
    if not possible:
        return _ABSENT
    certain = all(each.presence is Presence.CERTAIN for each in found)
    schemas = [each.schema for each in possible]
    schema = schemas[0] if len(schemas) == 1 else Schema({"anyOf": schemas})
    return Found(schema, Presence.CERTAIN if certain else Presence.POSSIBLE)


def _all_of(found: list[Found]) -> Found:
    if any(each.presence is Presence.IMPOSSIBLE for each in found):
        return _ABSENT
    certain = any(each.presence is Presence.CERTAIN for each in found)
    told = [each.schema for each in found if each.schema.node not in (True, {})]
    schema = ANYTHING if not told else told[0] if len(told) == 1 else Schema({"allOf": told})
    return Found(schema, Presence.CERTAIN if certain else Presence.POSSIBLE)
