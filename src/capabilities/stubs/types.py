"""JSON Schema as Python annotations, with classes for the objects in it.

An object that a capability returns is a `Record` (attributes and items); one that it takes is a
`TypedDict`. A schema without a counterpart in Python's types is `Any`, never a wrong type. A schema
says more than a type; `constraints` describes the rest for the docstring.
"""

from __future__ import annotations

import ast
import json
import keyword
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from caps.capabilities.stubs.constraints import MAX_LITERALS, describe_constraints, resolved
from caps.capabilities.stubs.text import comment, docstring
from caps.protocol.bytes_object import is_bytes_object

_PLAIN_TYPES = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "null": "None",
}
# The types of values that a wrapper converts: see `worker/inside/caps_api/typed_values`.
FORMAT_TYPES = {
    "date-time": ("datetime", "datetime"),
    "date": ("datetime", "date"),
    "time": ("datetime", "time"),
    "duration": ("datetime", "timedelta"),
    "decimal": ("decimal", "Decimal"),
    "uuid": ("uuid", "UUID"),
    "base64url": ("", "bytes"),
    "binary": ("", "bytes"),
}
_BUILTIN_TYPES = frozenset(("str", "int", "float", "bool", "bytes", "list", "dict", "set", "tuple"))
_MAX_DEPTH = 32
_DICT_ATTRIBUTES = frozenset(dir(dict))


class SchemaTypes:
    """Annotations of schemas, and the classes that they name, in order of first use."""

    def __init__(self, taken: Iterable[str], results: Iterable[Mapping[str, Any]] = ()) -> None:
        """`results` are the schemas of all results; a model in one has one class."""
        self._taken = set(taken)
        self.classes: dict[str, str] = {}
        self.imports: set[str] = set()
        self.modules: set[str] = set()
        self._results = {_model_key(one): (one, root) for root in results for one in _models(root)}
        self._named: dict[tuple[bool, str, str], str] = {}
        self._open: list[tuple[str, str]] = []
        self._shadowed: frozenset[str] = frozenset()

    @contextmanager
    def within(self, names: Iterable[str]) -> Iterator[None]:
        """Annotate inside a class that defines `names`, which hide builtin types of that name."""
        before, self._shadowed = self._shadowed, _BUILTIN_TYPES & set(names)
        try:
            yield
        finally:
            self._shadowed = before

    def annotation(
        self, schema: Any, root: Mapping[str, Any], hint: str, *, is_result: bool
    ) -> str:
        """`schema` as an annotation; `hint` is the name of a class for a schema without a title."""
        parts = list(dict.fromkeys(self._parts(schema, root, hint, is_result)))
        if "Any" in parts or not parts:
            return self._typing("Any")
        parts.sort(key=lambda part: part == "None")
        return " | ".join(parts)

    def _parts(
        self, schema: Any, root: Mapping[str, Any], hint: str, is_result: bool
    ) -> Iterator[str]:
        if schema is False:
            yield self._typing("Never")
        elif not isinstance(schema, dict) or len(self._open) > _MAX_DEPTH:
            yield "Any"
        elif "$ref" in schema:
            yield from self._referred(schema["$ref"], root, is_result)
        elif "const" in schema or "enum" in schema:
            values = schema["enum"] if "enum" in schema else [schema["const"]]
            yield from self._literals(values)
        elif alternatives := schema.get("anyOf") or schema.get("oneOf"):
            for one in alternatives:
                yield from self._parts(one, root, hint, is_result)
        else:
            yield from self._typed(schema, root, hint, is_result)
        if isinstance(schema, dict) and schema.get("nullable") is True:
            yield "None"

    def _referred(self, reference: str, root: Mapping[str, Any], is_result: bool) -> Iterator[str]:
        target = resolved(reference, root)
        place = (reference, _dump(root))
        if place in self._open and not _is_object(target):
            yield "Any"  # a list of itself, for example, has no finite annotation
            return
        self._open.append(place)
        try:
            yield from self._parts(target, root, reference.rpartition("/")[2], is_result)
        finally:
            self._open.pop()

    def _typed(
        self, schema: dict[str, Any], root: Mapping[str, Any], hint: str, is_result: bool
    ) -> Iterator[str]:
        declared = schema.get("type")
        if declared is None:
            declared = "object" if "properties" in schema else "array" if "items" in schema else ()
        kinds = (declared,) if isinstance(declared, str) else tuple(declared)
        for kind in kinds or ("any",):
            if kind == "object" and not is_result and is_bytes_object(schema):
                yield self._builtin("bytes")
            elif kind == "object":
                yield self._object(schema, root, hint, is_result)
            elif kind == "array":
                yield self._array(schema, root, hint, is_result)
            elif kind == "string" and schema.get("format") in FORMAT_TYPES:
                yield self._formatted(schema["format"])
            else:
                yield self._builtin(_PLAIN_TYPES.get(kind, "Any"))

    def _array(
        self, schema: dict[str, Any], root: Mapping[str, Any], hint: str, is_result: bool
    ) -> str:
        first = schema.get("prefixItems", ())
        item = self.annotation(schema.get("items", {}), root, f"{hint}_item", is_result=is_result)
        if first and schema.get("maxItems") == len(first):
            parts = [
                self.annotation(one, root, f"{hint}_{index}", is_result=is_result)
                for index, one in enumerate(first)
            ]
            return f"{self._builtin('tuple')}[{', '.join(parts)}]"
        kind = "tuple" if first else "set" if schema.get("uniqueItems") is True else "list"
        more = ", ..." if first else ""
        return f"{self._builtin(kind)}[{'Any' if first else item}{more}]"

    def _formatted(self, name: str) -> str:
        module, kind = FORMAT_TYPES[name]
        if not module:
            return self._builtin(kind)
        self.modules.add(module)
        return f"{module}.{kind}"

    def _literals(self, values: list[Any]) -> Iterator[str]:
        exact = [value for value in values if value is None or type(value) in (str, int, bool)]
        if len(exact) == len(values) <= MAX_LITERALS:
            shown = [repr(value) for value in exact if value is not None]
            if shown:
                yield f"{self._typing('Literal')}[{', '.join(shown)}]"
            if None in exact:
                yield "None"
            return
        for value in values:
            name = type(value).__name__
            plain = "None" if value is None else name
            yield self._builtin(plain) if plain in {*_PLAIN_TYPES.values()} else "Any"

    def _object(
        self, schema: dict[str, Any], root: Mapping[str, Any], hint: str, is_result: bool
    ) -> str:
        if not schema.get("properties"):
            items = schema.get("additionalProperties", {})
            item = (
                self.annotation(items, root, f"{hint}_item", is_result=is_result)
                if items
                else "Any"
            )
            if item == "Any":
                self._typing("Any")
            return f"{self._builtin('dict')}[{self._builtin('str')}, {item}]"
        returned = None if is_result else self._results.get(_model_key(schema))
        if returned is not None:
            name = self._object(returned[0], returned[1], hint, is_result=True)
            self._typing("Any")
            return f"{name} | {self._builtin('dict')}[{self._builtin('str')}, Any]"
        key = (is_result, _dump(schema), _dump(root.get("$defs", {})))
        if key not in self._named:
            self._define(key, schema, root, _class_name(str(schema.get("title") or hint)))
        return self._named[key]

    def _define(
        self,
        key: tuple[bool, str, str],
        schema: dict[str, Any],
        root: Mapping[str, Any],
        base: str,
    ) -> None:
        """Define a class `base`, or with the first numbered name that is free or has this text."""
        number, name = 1, base
        while True:
            # Named before its text is made: it may contain itself.
            self._named[key] = name
            if name not in self._taken:
                with self.within(()):
                    text = self._class_text(name, schema, root, is_result=key[0])
                if self.classes.setdefault(name, text) == text:
                    return
            number += 1
            name = f"{base}{number}"

    def _class_text(
        self, name: str, schema: dict[str, Any], root: Mapping[str, Any], *, is_result: bool
    ) -> str:
        required = schema.get("required", ())
        members = {
            field: self.annotation(inner, root, f"{name}_{field}", is_result=is_result)
            for field, inner in schema["properties"].items()
        }
        used = {name for member in members.values() for name in _names_in(member)}
        odd = {field for field in members if not _can_be_attribute(field) or field in used}
        notes = {
            field: describe_constraints(inner, root)
            for field, inner in schema["properties"].items()
        }
        doc = docstring([str(schema.get("description", ""))])
        if is_result:
            missing = {field: field not in required for field in members}
            return _record_text(
                name, members, notes, missing, odd | (_DICT_ATTRIBUTES & set(members)), doc
            )
        self._typing("TypedDict")
        entries = {
            field: kind if field in required else f"{self._typing('NotRequired')}[{kind}]"
            for field, kind in members.items()
        }
        return _typed_dict_text(name, entries, notes, doc, functional=bool(odd))

    def _typing(self, name: str) -> str:
        self.imports.add(name)
        return name

    def _builtin(self, name: str) -> str:
        if name in self._shadowed:
            self.imports.add("builtins")
            return f"builtins.{name}"
        return name


def _record_text(
    name: str,
    members: Mapping[str, str],
    notes: Mapping[str, str],
    missing: Mapping[str, bool],
    odd: set[str],
    doc: list[str],
) -> str:
    lines = [f"class {name}(Record):", *(f"    {line}" for line in doc)]
    for field, kind in members.items():
        note = "; ".join(text for text in (notes[field], "may be missing") if text)
        note = note if missing[field] else notes[field]
        if field in odd:
            # Not an attribute: it is not an identifier, or a dict has a method of that name.
            lines.append(f"    # r[{field!r}]: {kind}{comment(note)}")
        else:
            lines.append(f"    {field}: {kind}{comment(note)}")
    if not doc and odd == set(members):
        lines.append("    pass")
    return "\n".join(lines)


def _typed_dict_text(
    name: str,
    members: Mapping[str, str],
    notes: Mapping[str, str],
    doc: list[str],
    *,
    functional: bool,
) -> str:
    if functional:
        fields = [
            f"    {field!r}: {kind},{comment(notes[field])}" for field, kind in members.items()
        ]
        return "\n".join([f"{name} = TypedDict({name!r}, {{", *fields, "})"])
    lines = [f"    {field}: {kind}{comment(notes[field])}" for field, kind in members.items()]
    return "\n".join([f"class {name}(TypedDict):", *(f"    {line}" for line in doc), *lines])


def _names_in(annotation: str) -> set[str]:
    """The names of types in an annotation; a field with such a name would hide the type."""
    nodes = ast.walk(ast.parse(annotation, mode="eval"))
    return {node.id for node in nodes if isinstance(node, ast.Name)}


def _can_be_attribute(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name) and not name.startswith("__")


def _models(root: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The objects with a title in a schema."""
    for schema in (root, *root.get("$defs", {}).values()):
        if _is_object(schema) and schema.get("title"):
            yield schema


def _model_key(schema: Mapping[str, Any]) -> tuple[str, frozenset[str]]:
    return str(schema.get("title", "")), frozenset(schema.get("properties", ()))


def _is_object(schema: Any) -> bool:
    return isinstance(schema, dict) and bool(schema.get("properties"))


def _class_name(text: str) -> str:
    """`text` as a class name: words joined, each with a capital letter."""
    found = [part for part in re.split(r"[^0-9A-Za-z]+", text) if part]
    name = "".join(part[0].upper() + part[1:] for part in found)
    return name if name.isidentifier() and not keyword.iskeyword(name) else f"Object{name}"


def _dump(schema: Any) -> str:
    return json.dumps(schema, sort_keys=True, default=repr)
