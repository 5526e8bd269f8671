"""(2) JSON Schema, compiled once and used on every call.

Offline and linear by construction: a reference may only point into its own schema, and patterns are
compiled by an engine without backtracking, which refuses look-around and back-references.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any

import jsonschema_rs

from caps.protocol.errors import RegistrationError
from caps.security.decision import Problem

_MOST_PROBLEMS = 16
_SHOWN_CHARACTERS = 80
_PATH_CHARACTERS = 256
_PLAIN_RULES = (str, int, float, dict)
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


class CompiledSchema:
    """A schema that can tell what is wrong with a value."""

    def __init__(self, schema: dict[str, Any], label: str) -> None:
        _refuse_foreign_references(schema, label)
        try:
            self._validator = jsonschema_rs.Draft202012Validator(
                schema,
                pattern_options=jsonschema_rs.RegexOptions(),
                retriever=_refuse_retrieval,
                validate_formats=False,
            )
        except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
            reason = str(error).partition("\n")[0]
            raise RegistrationError(f"{label} is no usable json schema: {reason}") from None

    def problems(self, value: Any) -> tuple[Problem, ...]:
        """What is wrong with `value`, at most sixteen things; empty if it fits."""
        try:
            if self._validator.is_valid(value):
                return ()
            found = list(itertools.islice(self._validator.iter_errors(value), _MOST_PROBLEMS))
        except ValueError as error:  # bytes, integer keys: not JSON-like at all
            return (Problem(path="$", expected="json-like data", got=str(error)),)
        return tuple(_problem(error) for error in found)


def _problem(error: jsonschema_rs.ValidationError) -> Problem:
    return Problem(
        path=_json_path(error.instance_path), expected=_expected(error), got=_brief(error.instance)
    )


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
    """What one of several schemas asks for: its first rule, and where if it lies deeper."""
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


def portable(schema: Any) -> Any:
    """The same schema with numbers that a message can carry: what is over 64 bits is rounded.

    It is for the worker's own look at a payload; the broker looks with the schema as it is.
    """
    if isinstance(schema, Mapping):
        return {key: portable(value) for key, value in schema.items()}
    if isinstance(schema, list | tuple):
        return [portable(value) for value in schema]
    if isinstance(schema, int) and not -(2**63) <= schema < 2**64:
        if abs(schema) < 2**1023:
            return float(schema)
        return math.inf if schema > 0 else -math.inf
    return schema
