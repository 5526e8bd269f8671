"""(4) Checks the arguments of one call in the source against a schema.

The rules are those of the wrapper (`payload_check`), as far as the source alone shows it: names
always, values where they are literals.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from caps.protocol.text import did_you_mean
from caps.worker.inside.caps_api.payload_check import problems_in
from caps.worker.inside.caps_api.typed_values import to_json_like

_SHOWN_CHARACTERS = 64
_NOT_A_LITERAL = object()
# The errors of `literal_eval` for an expression that is not a literal or nests too deeply.
_UNREADABLE = (ValueError, TypeError, SyntaxError, MemoryError, RecursionError)


def argument_problems(
    call: ast.Call, schema: Mapping[str, Any], *, by_position: bool
) -> Iterator[tuple[ast.AST, str]]:
    """The problems of the arguments of `call`, each with the node where it is."""
    properties: Mapping[str, Any] = schema.get("properties", {})
    arguments: dict[str, ast.expr] = {}
    yield from _bind_positional(call, list(properties) if by_position else [], arguments)
    yield from _bind_keywords(call, arguments)
    if schema.get("additionalProperties", True) is False:
        for name, value in arguments.items():
            if name not in properties:
                yield value, f"has no argument `{_shorten(name)}`{_hint(name, properties)}"
    if not _has_unpacking(call):
        missing = [f"`{name}`" for name in schema.get("required", ()) if name not in arguments]
        if missing:
            yield call, f"lacks {', '.join(missing)}"
    for name, value in arguments.items():
        if name in properties:
            yield from _value_problems(name, value, properties[name], schema)


def _bind_positional(
    call: ast.Call, names: list[str], arguments: dict[str, ast.expr]
) -> Iterator[tuple[ast.AST, str]]:
    for index, value in enumerate(call.args):
        if isinstance(value, ast.Starred):
            return  # the positions after it are unknown
        if index >= len(names):
            most = f"at most {len(names)}" if names else "no"
            yield value, f"takes {most} positional arguments, {len(call.args)} given"
            return
        arguments[names[index]] = value


def _bind_keywords(call: ast.Call, arguments: dict[str, ast.expr]) -> Iterator[tuple[ast.AST, str]]:
    for keyword in call.keywords:
        if keyword.arg is None:
            continue
        if keyword.arg in arguments:
            yield keyword, f"got two values for `{_shorten(keyword.arg)}`"
        arguments[keyword.arg] = keyword.value


def _has_unpacking(call: ast.Call) -> bool:
    """Whether `*args` or `**kwargs` may add more arguments."""
    return any(isinstance(value, ast.Starred) for value in call.args) or any(
        keyword.arg is None for keyword in call.keywords
    )


def _value_problems(
    name: str, node: ast.expr, schema: Any, root: Mapping[str, Any]
) -> Iterator[tuple[ast.AST, str]]:
    value = _literal(node)
    if value is _NOT_A_LITERAL:
        return
    for problem in problems_in(schema, to_json_like(value, schema, root), root, name):
        expected, got = problem["expected"], problem["got"]
        yield node, f"with `{_shorten(problem['path'])}`: expected {expected}, got {got}"


def _literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except _UNREADABLE:
        return _NOT_A_LITERAL


def _hint(name: str, known: Mapping[str, Any]) -> str:
    suggestion = did_you_mean(name[:_SHOWN_CHARACTERS], known)
    return suggestion or f"; it takes {', '.join(f'`{one}`' for one in known) or 'none'}"


def _shorten(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…"
