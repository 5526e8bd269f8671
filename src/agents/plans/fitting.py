"""Whether every value of one schema fits another: yes, no value does, or it cannot be settled.

The answer is a list of findings, empty if all values fit. A finding is certain only if no value at
all can fit; everything that this small comparison does not understand is left open. Values that are
known are checked by the validator itself, so that the answer is that of the call.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import Any, Final

from msgspec.structs import replace

from caps.agents.plans.bounds import Finding, Findings, counted, numbers, same, within
from caps.agents.plans.inputs import joined
from caps.agents.plans.schemas import Schema
from caps.capabilities.schemas.schema import CompiledSchema
from caps.protocol.errors import RegistrationError
from caps.protocol.text import printable

_MAX_COMPARED: Final = 20_000
_MAX_DEPTH: Final = 48
# Keywords that are left to the run.
_UNSETTLED: Final = frozenset(
    "not if then else dependentRequired dependentSchemas dependencies patternProperties "
    "propertyNames contains minContains maxContains unevaluatedItems unevaluatedProperties "
    "$dynamicRef $recursiveRef $anchor $id".split()
)


def is_certain(found: Findings) -> bool:
    return any(each.certain for each in found)


class Comparison:
    """Compares schemas, all together for a bounded time."""

    def __init__(self) -> None:
        self._left = _MAX_COMPARED
        self._compiled: dict[int, tuple[Any, CompiledSchema | None]] = {}

    def findings(self, source: Schema, target: Schema, path: str) -> Findings:
        """Why values of `source`, which are at `path`, do not fit `target`; empty if all fit."""
        return self._compare(source, target, path, 0)

    def _compare(self, source: Schema, target: Schema, path: str, depth: int) -> Findings:
        self._left -= 1
        if target.node is True or target.node == {} or source.is_never:
            return []
        if target.is_never:
            return [Finding(path, "nothing may be here", True)]
        if self._left < 0 or depth > _MAX_DEPTH:
            return [Finding(path, "the schemas are too large to be compared", False)]
        alternatives = _alternatives(source)
        if alternatives is not None:
            return self._of_source(source, alternatives, target, path, depth + 1)
        if "const" in source.fields:
            return self._checked(source.fields["const"], target, path)
        return self._with_target(source, target, path, depth + 1)

    def _of_source(
        self,
        source: Schema,
        alternatives: tuple[str, list[Schema]],
        target: Schema,
        path: str,
        depth: int,
    ) -> Findings:
        """`source` is one of several schemas, or all of several, and all that it says besides."""
        key, schemas = alternatives
        each = [self._compare(schema, target, path, depth) for schema in schemas]
        found = _if_all(each) if key in ("allOf", "$ref") else _if_one(each, path)
        rest = source.without(key)
        if key == "enum" or not rest.fields.keys() - _ANNOTATIONS:
            return found
        return _if_all([found, self._compare(rest, target, path, depth)])

    def _with_target(self, source: Schema, target: Schema, path: str, depth: int) -> Findings:
        """All that `target` says, one keyword after the other."""
        found: Findings = []
        fields = target.fields
        for part in [*([target.target()] if "$ref" in fields else []), *target.branches("allOf")]:
            found += self._compare(source, part, path, depth)
        for key in ("anyOf", "oneOf"):
            if key in fields:
                each = [self._compare(source, part, path, depth) for part in target.branches(key)]
                found += _into_one(each, path, only_one=key == "oneOf")
        for key in sorted(_UNSETTLED & fields.keys()):
            found.append(Finding(path, f"`{key}` is checked when it runs", False))
        known = [*fields["enum"]] if "enum" in fields else []
        known += [fields["const"]] if "const" in fields else []
        if known:
            fits = [not is_certain(self._checked(value, source, path)) for value in known]
            why = f"should be one of {printable(repr(known), 80)}"
            found.append(Finding(path, why, not any(fits)))
        return found + self._by_type(source, target, path, depth)

    def _by_type(self, source: Schema, target: Schema, path: str, depth: int) -> Findings:
        each = [self._of_type(kind, source, target, path, depth) for kind in source.types]
        return _if_one(each, path)

    def _of_type(
        self, kind: str, source: Schema, target: Schema, path: str, depth: int
    ) -> Findings:
        if "type" in target.fields:
            fits = kind in target.types or (kind == "integer" and "number" in target.types)
            if kind == "number" and not fits and "integer" in target.types:
                return [Finding(path, "should be an integer, and may be another number", False)]
            if not fits:
                return [Finding(path, f"should be {_words(target.types)}, and is {kind}", True)]
        match kind:
            case "object":
                return self._objects(source, target, path, depth)
            case "array":
                return self._arrays(source, target, path, depth)
            case "string":
                ranges = within(source, target, "minLength", "maxLength", path, 0)
                return ranges + same(source, target, "pattern", path)
            case "integer" | "number":
                return numbers(source, target, path)
        return []

    def _arrays(self, source: Schema, target: Schema, path: str, depth: int) -> Findings:
        found = within(source, target, "minItems", "maxItems", path, 0)
        least, most = source.fields.get("minItems", 0), source.fields.get("maxItems")
        first = max(len(each.fields.get("prefixItems", ())) for each in (source, target))
        for index in range(first + 1):  # the last one stands for all that follow
            if most is None or index < most:
                place = joined(path, index)
                inner = self._compare(source.item(index), target.item(index), place, depth)
                found += inner if index < least else _doubted(inner)
        may_repeat = not source.fields.get("uniqueItems") and (most is None or most > 1)
        if target.fields.get("uniqueItems") and may_repeat:
            found.append(Finding(path, "items should be unique, and may repeat", False))
        return found

    def _objects(self, source: Schema, target: Schema, path: str, depth: int) -> Findings:
        required, given = target.fields.get("required", ()), source.fields.get("required", ())
        named = dict.fromkeys(
            [
                *given,
                *source.fields.get("properties", {}),
                *required,
                *target.fields.get("properties", {}),
            ]
        )
        found: Findings = []
        for name in named:
            of_source, certain = source.property_of(name), name in given
            if name in required and (of_source.is_never or not certain):
                absent = of_source.is_never
                verb = "has no" if absent else "may have no"
                why = f"{verb} property `{printable(name, 80)}`, which is required"
                found.append(Finding(path, why, absent))
            inner = self._compare(of_source, target.property_of(name), joined(path, name), depth)
            found += inner if certain else _doubted(inner)
        others = source.part(source.fields.get("additionalProperties", True))
        allowed = target.part(target.fields.get("additionalProperties", True))
        found += _doubted(self._compare(others, allowed, path, depth))
        return found + counted(source, target, path, others)

    def _checked(self, value: Any, target: Schema, path: str) -> Findings:
        """The answer of the validator about a value that is known."""
        self._left -= 1
        compiled = self._validator(target) if self._left >= 0 else None
        if compiled is None:
            return [Finding(path, "it is checked when it runs", False)]
        return [
            Finding(f"{path}{each.path[1:]}", f"should be {each.expected}, got {each.got}", True)
            for each in compiled.problems(value)
        ]

    def _validator(self, target: Schema) -> CompiledSchema | None:
        """None for a schema that is made of others, or has references that lead out of it."""
        node, root = target.node, target.root
        known = self._compiled.get(id(node))
        if known is not None:
            return known[1]
        whole, compiled = node, None
        if isinstance(node, dict) and node is not root and isinstance(root, dict):
            whole = {**{k: root[k] for k in ("$defs", "definitions") if k in root}, **node}
        with contextlib.suppress(RegistrationError, TypeError, ValueError):
            compiled = CompiledSchema(whole, "the schema")
        self._compiled[id(node)] = (
            node,
            compiled,
        )  # the node is kept, so that its id stays its own
        return compiled


_ANNOTATIONS: Final = frozenset(
    "title description default examples deprecated readOnly writeOnly format $comment $defs "
    "definitions $schema discriminator contentMediaType contentEncoding".split()
)


def _alternatives(source: Schema) -> tuple[str, list[Schema]] | None:
    fields = source.fields
    if "const" in fields:
        return None
    if "enum" in fields:
        return "enum", [Schema({"const": value}) for value in fields["enum"]]
    if "$ref" in fields:
        return "$ref", [source.target()]
    for key in ("allOf", "anyOf", "oneOf"):
        if key in fields:
            return key, source.branches(key)
    return None


def _if_all(each: Iterable[Findings]) -> Findings:
    """Values are of all these schemas: one that fits is enough, and so is one that never does."""
    found = list(each)
    if any(not one for one in found):
        return []
    return next((one for one in found if is_certain(one)), found[0] if found else [])


def _if_one(each: Iterable[Findings], path: str) -> Findings:
    """Values are of one of these schemas, and nobody knows which."""
    found = list(each)
    if len(found) == 1 or all(not one for one in found):
        return found[0] if found else []
    if all(is_certain(one) for one in found):
        why = "; or ".join(dict.fromkeys(one[0].why for one in found))
        return [Finding(path, printable(why, 300), True)]
    first = next(one[0] for one in found if one)
    return [replace(first, certain=False)]


def _into_one(each: list[Findings], path: str, *, only_one: bool) -> Findings:
    """Values should fit one of these schemas, or exactly one."""
    possible = [one for one in each if not is_certain(one)]
    if not possible:
        why = "; or ".join(dict.fromkeys(one[0].why for one in each)) or "nothing may be here"
        return [Finding(path, printable(why, 300), True)]
    if any(not one for one in possible) and (len(possible) == 1 or not only_one):
        return []
    return [Finding(path, "may fit none of several schemas, or too many", False)]


def _doubted(found: Findings) -> Findings:
    """What is wrong with a part that may not be there."""
    return [replace(each, certain=False) for each in found]


def _words(types: tuple[str, ...]) -> str:
    return " or ".join(types)
