"""(2) JSON Schema, compiled once and used for every call.

Never fetches anything, and takes linear time: a reference may only point into its own schema, and
patterns are compiled by an engine without backtracking, which refuses look-around and
back-references.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from typing import Any

import jsonschema_rs

from caps.protocol.errors import RegistrationError
from caps.security.reasons import Problem

_MAX_PROBLEMS = 16
_SHOWN_CHARACTERS = 80
_PATH_CHARACTERS = 256
_KNOWN_CHARACTERS = 512
_PLAIN_RULES = (str, int, float, dict)
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


class CompiledSchema:
    """A schema that can report what is wrong with a value."""

    def __init__(self, schema: dict[str, Any], label: str) -> None:
        _refuse_foreign_references(schema, label)
        self._schema = schema
        try:
            self._validator = jsonschema_rs.Draft202012Validator(
                schema,
                pattern_options=jsonschema_rs.RegexOptions(),
                retriever=_refuse_retrieval,
                validate_formats=False,
            )
        except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
            reason = str(error).partition("\n")[0]
            raise RegistrationError(f"{label} is not a valid JSON schema: {reason}") from None
        self.fits: Callable[[Any], bool] = self._validator.is_valid
        """Whether a value has no problems; ValueError if it is not JSON-like."""

    @property
    def schema(self) -> dict[str, Any]:
        """The schema itself; not to be changed."""
        return self._schema

    def problems(self, value: Any) -> tuple[Problem, ...]:
        """The problems with `value`, at most sixteen; empty if it fits."""
        try:
            if self.fits(value):
                return ()
            if _is_large(value):
                return (_TOO_LARGE_TO_EXPLAIN,)
            found = list(itertools.islice(self._validator.iter_errors(value), _MAX_PROBLEMS))
        except ValueError as error:  # not JSON-like data: bytes, integer keys
            return (Problem(path="$", expected="json-like data", got=str(error)),)
        return tuple(_problem(error, self._schema) for error in found)


# The validator copies the value that breaks a rule, for each rule; this bounds time and memory.
_MAX_EXPLAINED_ITEMS = 2000
_TOO_LARGE_TO_EXPLAIN = Problem(
    path="$", expected="what the schema says", got=f"more than {_MAX_EXPLAINED_ITEMS} items"
)


def _is_large(value: Any) -> bool:
    """Whether `value` holds more items than an explanation may take."""
    todo, items = [value], 0
    while todo and items <= _MAX_EXPLAINED_ITEMS:
        item = todo.pop()
        if isinstance(item, (dict, list, tuple)):
            items += len(item)
            if items <= _MAX_EXPLAINED_ITEMS:
                todo.extend(item.values() if isinstance(item, dict) else item)
    return items > _MAX_EXPLAINED_ITEMS


def _problem(error: jsonschema_rs.ValidationError, schema: Any) -> Problem:
    expected = _expected(error)
    if error.kind.name == "additionalProperties":
        expected += _known_properties(schema, error.schema_path)
    return Problem(
        path=_json_path(error.instance_path), expected=expected, got=_brief(error.instance)
    )


def _known_properties(schema: Any, broken_rule: list[str | int]) -> str:
    """The names of the properties, next to the rule that forbids others."""
    for part in broken_rule[:-1]:
        schema = schema[part]
    return f"; known: {_cut(', '.join(schema.get('properties', ())) or 'none', _KNOWN_CHARACTERS)}"


def _json_path(parts: list[str | int]) -> str:
    path = "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)
    return _cut(path, _PATH_CHARACTERS)  # names of properties come from the worker


def _expected(error: jsonschema_rs.ValidationError) -> str:
    """The rule that was broken, without the value that broke it."""
    details = error.kind.as_dict()
    match error.kind.name:
        case "required":
            return f"required property `{details['property']}`"
        case "additionalProperties":
            names = ", ".join(f"`{name}`" for name in details["unexpected"])
            return f"no property {_cut(names, _SHOWN_CHARACTERS)}"
        case "type":
            return f"type {' or '.join(details['types'])}"
        case "enum":
            return f"one of {_brief(details['options'])}"
        case "anyOf" | "oneOf" if details.get("context"):
            branches = (_expected_by_branch(error, branch) for branch in details["context"])
            return _cut(" or ".join(dict.fromkeys(branches)), 2 * _SHOWN_CHARACTERS)
        case "falseSchema":
            return "nothing"
        case name:
            rules = [value for value in details.values() if isinstance(value, _PLAIN_RULES)]
            return f"{name} {_brief(rules[0])}" if rules else name


def _expected_by_branch(
    error: jsonschema_rs.ValidationError, branch: list[jsonschema_rs.ValidationError]
) -> str:
    """What one of several schemas expects: its first broken rule, with its path if it is deeper."""
    if not branch:
        return "only one of several"
    first = branch[0]
    deeper = first.instance_path[len(error.instance_path) :]
    return f"{_expected(first)} at `{_json_path(deeper)}`" if deeper else _expected(first)


def _brief(value: Any) -> str:
    return _cut(repr(value), _SHOWN_CHARACTERS)


def _cut(text: str, characters: int) -> str:
    return text if len(text) <= characters else text[: characters - 1] + "…"


def _refuse_retrieval(uri: str) -> Any:
    raise ValueError(f"`{uri}` is outside the schema, and nothing is ever fetched")


def _refuse_foreign_references(schema: Any, label: str) -> None:
    stack = [schema]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            for key in _REFERENCES:
                target = node.get(key)
                if isinstance(target, str) and not target.startswith("#"):
                    raise RegistrationError(
                        f"{label} refers to `{target}`; a schema may refer only to itself"
                    )
            stack.extend(node.values())
        elif isinstance(node, list):
            stack.extend(node)


def worker_schema(schema: Any) -> Any:
    """The same schema with numbers that fit into a message: integers over 64 bits are rounded.

    The worker checks payloads with it; the broker uses the schema itself.
    """
    if isinstance(schema, Mapping):
        return {key: worker_schema(value) for key, value in schema.items()}
    if isinstance(schema, list | tuple):
        return [worker_schema(value) for value in schema]
    if isinstance(schema, int) and not -(2**63) <= schema < 2**64:
        if abs(schema) < 2**1023:
            return float(schema)
        return math.inf if schema > 0 else -math.inf
    return schema


# Results with these become Python types in user space: see `worker/inside/caps_api/typed_values`.
TYPED_FORMATS = frozenset(
    ("date-time", "date", "time", "duration", "decimal", "uuid", "base64url", "binary")
)


def _is_typed_format(value: Any) -> bool:
    return isinstance(value, str) and value in TYPED_FORMATS


def names_types(schema: Any) -> bool:
    """Whether a value of `schema` may hold types that JSON does not have."""
    stack = [schema]
    while stack:
        node = stack.pop()
        if isinstance(node, Mapping):
            typed = _is_typed_format(node.get("format")) or node.get("uniqueItems") is True
            if typed or "prefixItems" in node:
                return True
            stack.extend(node.values())
        elif isinstance(node, list | tuple):
            stack.extend(node)
    return False
