"""The schemas that a server gives its tools: untrusted text that the host compiles, so bounded.

A tool whose schemas do not fit is refused by itself, with the reason; the others stay usable. Each
schema refers only to itself, by paths; stays small when it is expanded; and its patterns are those
of an engine without backtracking.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from caps.capabilities.schemas.patterns import compiled_regex
from caps.capabilities.schemas.schema_bounds import check_schema
from caps.protocol.errors import ProviderError, RegistrationError
from caps.protocol.text import printable
from caps.security.policies.plain_json import NotJsonError, plain_json

MAX_SCHEMA_BYTES: Final = 64 * 1024
MAX_PATTERNS: Final = 32
_STRUCTURED: Final = "#/properties/structured"
# They name a dialect or the schema itself, and change nothing of what a value must be.
_NAMES: Final = ("$schema", "$id", "$comment")
_ITEM: Final = {
    "type": "object",
    "required": ["type"],
    "properties": {
        "type": {"enum": ["text", "image", "audio", "resource", "link"]},
        "text": {"type": "string"},
        "data": {"type": "string", "description": "Base64."},
        "media_type": {"type": "string"},
        "uri": {"type": "string"},
        "name": {"type": "string"},
    },
    "additionalProperties": False,
}


def input_schema(given: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of the arguments, checked. Raises RegistrationError."""
    schema = _checked(given, "inputSchema")
    if schema.setdefault("type", "object") != "object":
        raise RegistrationError("`inputSchema` is not that of an object")
    return schema


def output_schema(given: Mapping[str, Any] | None) -> dict[str, Any]:
    """The schema of what a call returns: text, content, and what the server's own schema says."""
    properties: dict[str, Any] = {
        "text": {"type": "string", "description": "All texts of the content, joined."},
        "content": {"type": "array", "items": _ITEM},
        "structured": {},
    }
    required = ["text", "content"]
    if given is not None:
        own = _checked(given, "outputSchema")
        properties["structured"] = _rebased(own)
        required.append("structured")
    return {
        "type": "object",
        "required": required,
        "properties": properties,
        "additionalProperties": False,
    }


def _checked(given: Mapping[str, Any], label: str) -> dict[str, Any]:
    if len(msgspec.json.encode(given)) > MAX_SCHEMA_BYTES:
        raise RegistrationError(f"`{label}` is larger than {MAX_SCHEMA_BYTES} bytes")
    try:
        schema: dict[str, Any] = plain_json(given)
    except NotJsonError as error:
        raise RegistrationError(f"`{label}` is refused: {error}") from None
    for name in _NAMES:
        schema.pop(name, None)
    _check_patterns(schema, label)
    check_schema(schema, label)
    return schema


def _check_patterns(schema: Mapping[str, Any], label: str) -> None:
    for number, pattern in enumerate(_patterns(schema), 1):
        if number > MAX_PATTERNS:
            raise RegistrationError(f"`{label}` has more than {MAX_PATTERNS} patterns")
        try:
            compiled_regex(pattern)
        except ProviderError as error:
            shown = printable(pattern, 80)
            raise RegistrationError(f"`{label}`: `{shown}`: {error.message}") from None


def _patterns(node: Any) -> Iterator[str]:
    """Every text that a validator could take for a pattern, wherever it is."""
    stack = [node]
    while stack:
        found = stack.pop()
        if isinstance(found, Mapping):
            pattern, by_name = found.get("pattern"), found.get("patternProperties")
            if isinstance(pattern, str):
                yield pattern
            if isinstance(by_name, Mapping):
                yield from by_name
            stack.extend(found.values())
        elif isinstance(found, list):
            stack.extend(found)


def _rebased(node: Any) -> Any:
    """The schema with references that fit its place in the schema of the result."""
    if isinstance(node, list):
        return [_rebased(each) for each in node]
    if not isinstance(node, dict):
        return node
    moved = {key: _rebased(value) for key, value in node.items()}
    target = moved.get("$ref")
    if isinstance(target, str):
        moved["$ref"] = _STRUCTURED + target.removeprefix("#")
    return moved
