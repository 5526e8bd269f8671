"""The inputs of a step: data, with references to the outputs of earlier steps in it.

An object with the key `$from` is a reference, wherever it stands: `{"$from": "list", "at":
"/items/0"}` is what a JSON pointer (RFC 6901) finds in the output of the step `list`; without `at`,
all of it. An object with the key `$literal` stands for the value of that key as it is, so that data
can have any keys. All other values are data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from caps.protocol.text import printable
from caps.security.policies.names import MAX_QUOTED

FROM: Final = "$from"
LITERAL: Final = "$literal"
MAX_POINTER: Final = 1024
MAX_TOKENS: Final = 64
MAX_REFERENCES: Final = 1024


class Data(msgspec.Struct, frozen=True):
    """A value without references."""

    value: Any


class Reference(msgspec.Struct, frozen=True):
    """The place `at` in the output of a step; `path` is where the plan refers to it."""

    step: str
    at: tuple[str, ...]
    path: str


class ObjectOf(msgspec.Struct, frozen=True):
    fields: dict[str, Template]


class ListOf(msgspec.Struct, frozen=True):
    items: tuple[Template, ...]


Template = Data | Reference | ObjectOf | ListOf


class MalformedReferenceError(ValueError):
    """What should be a reference is none; `path` is its place."""

    def __init__(self, message: str, path: str) -> None:
        super().__init__(message)
        self.path = path


def joined(path: str, key: str | int) -> str:
    """The place of an item, as `json_place` writes it."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    return f"{path}.{key}" if key.isidentifier() else f'{path}["{printable(key, MAX_QUOTED)}"]'


def template_of(value: Any, path: str) -> Template:
    """`value` with its references read. Raises MalformedReferenceError for the first bad one."""
    if isinstance(value, dict):
        if FROM in value:
            return _reference(value, path)
        if LITERAL in value:
            if len(value) > 1:
                raise MalformedReferenceError(f"`{LITERAL}` must be the only key", path)
            return Data(value[LITERAL])
        fields = {key: template_of(item, joined(path, key)) for key, item in value.items()}
        if all(isinstance(item, Data) for item in fields.values()):
            return Data({key: item.value for key, item in fields.items()})  # type: ignore[union-attr]
        return ObjectOf(fields)
    if isinstance(value, list):
        items = tuple(template_of(item, joined(path, n)) for n, item in enumerate(value))
        if all(isinstance(item, Data) for item in items):
            return Data([item.value for item in items])  # type: ignore[union-attr]
        return ListOf(items)
    return Data(value)


def references_in(template: Template) -> Iterator[Reference]:
    match template:
        case Reference():
            yield template
        case ObjectOf(fields):
            for item in fields.values():
                yield from references_in(item)
        case ListOf(items):
            for item in items:
                yield from references_in(item)


class InputsTooLargeError(Exception):
    """The inputs of a step, with the outputs that they refer to, are too large for a call."""


def filled(template: Template, outputs: Mapping[str, Any], max_bytes: int) -> Any:
    """The inputs with the outputs of earlier steps in them.

    Raises LookupError if a place is missing, and InputsTooLargeError if the outputs together have
    more than `max_bytes` as JSON: few references can stand for a large output many times.
    """
    sizes: dict[tuple[str, tuple[str, ...]], int] = {}
    size = 0
    for each in references_in(template):
        place = (each.step, each.at)
        if place not in sizes:
            value = _found(outputs[each.step], each.at, each.path)
            sizes[place] = len(msgspec.json.encode(value))
        size += sizes[place]
        if size > max_bytes:
            raise InputsTooLargeError(f"its inputs are over {max_bytes} bytes")
    return _filled(template, outputs)


def _filled(template: Template, outputs: Mapping[str, Any]) -> Any:
    match template:
        case Data(value):
            return value
        case Reference(step, at, path):
            return _found(outputs[step], at, path)
        case ObjectOf(fields):
            return {key: _filled(item, outputs) for key, item in fields.items()}
        case ListOf(items):
            return [_filled(item, outputs) for item in items]


def index_of(token: str) -> int | None:
    """The index that a token of a pointer is in a list; None if it is none."""
    fits = token.isascii() and token.isdecimal() and (len(token) == 1 or token[0] != "0")
    return int(token) if fits and len(token) < 10 else None


def _reference(value: dict[str, Any], path: str) -> Reference:
    step, at = value[FROM], value.get("at", "")
    if not isinstance(step, str) or not isinstance(at, str) or value.keys() - {FROM, "at"}:
        raise MalformedReferenceError(
            f"a reference has `{FROM}`, the id of a step, and may have `at`, a JSON pointer", path
        )
    tokens = at.split("/")
    bare = at.replace("~0", "").replace("~1", "")
    if tokens[0] != "" or "~" in bare or len(at) > MAX_POINTER or len(tokens) > MAX_TOKENS:
        raise MalformedReferenceError(
            f"`{printable(at, MAX_QUOTED)}` is not a JSON pointer such as `/items/0`",
            joined(path, "at"),
        )
    parts = tuple(each.replace("~1", "/").replace("~0", "~") for each in tokens[1:])
    return Reference(step, parts, path)


def _found(value: Any, at: tuple[str, ...], path: str) -> Any:
    for token in at:
        index = index_of(token)
        if isinstance(value, dict) and token in value:
            value = value[token]
        elif isinstance(value, list) and index is not None and index < len(value):
            value = value[index]
        else:
            raise LookupError(f"the output has no `{printable(token, MAX_QUOTED)}` for {path}")
    return value
