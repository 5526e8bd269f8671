"""(4) The arguments of one call as they stand in the source, held against a schema.

The rules are those of the wrapper (`payload`), as far as the source alone can tell: names always,
values where they are literals.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator, Mapping
from typing import Any

from caps.worker.inside.caps_api.payload_check import problems_in

_SHOWN_CHARACTERS = 64
_NO_LITERAL = object()
# What `literal_eval` raises for what is none, or nests too deeply to tell.
_UNREADABLE = (ValueError, TypeError, SyntaxError, MemoryError, RecursionError)


def argument_problems(
    call: ast.Call, schema: Mapping[str, Any], *, by_position: bool
) -> Iterator[tuple[ast.AST, str]]:
    """What is wrong with the arguments of `call`, each with the node to blame."""
    properties: Mapping[str, Any] = schema.get("properties", {})
    given: dict[str, ast.expr] = {}
    yield from _take_positional(call, list(properties) if by_position else [], given)
    yield from _take_named(call, given)
    if schema.get("additionalProperties", True) is False:
        for name, value in given.items():
            if name not in properties:
                yield value, f"has no argument `{_cut(name)}`{_hint(name, properties)}"
    if not _is_open(call):
        missing = [f"`{name}`" for name in schema.get("required", ()) if name not in given]
        if missing:
            yield call, f"lacks {', '.join(missing)}"
    for name, value in given.items():
        if name in properties:
            yield from _value_problems(name, value, properties[name], schema)


def _take_positional(
    call: ast.Call, names: list[str], given: dict[str, ast.expr]
) -> Iterator[tuple[ast.AST, str]]:
    for index, value in enumerate(call.args):
        if isinstance(value, ast.Starred):
            return  # what follows is in no known place
        if index >= len(names):
            most = f"at most {len(names)}" if names else "no"
            yield value, f"takes {most} positional arguments, {len(call.args)} given"
            return
        given[names[index]] = value


def _take_named(call: ast.Call, given: dict[str, ast.expr]) -> Iterator[tuple[ast.AST, str]]:
    for keyword in call.keywords:
        if keyword.arg is None:
            continue
        if keyword.arg in given:
            yield keyword, f"got two values for `{_cut(keyword.arg)}`"
        given[keyword.arg] = keyword.value


def _is_open(call: ast.Call) -> bool:
    """Whether `*args` or `**kwargs` may bring more."""
    return any(isinstance(value, ast.Starred) for value in call.args) or any(
        keyword.arg is None for keyword in call.keywords
    )


def _value_problems(
    name: str, node: ast.expr, schema: Any, root: Mapping[str, Any]
) -> Iterator[tuple[ast.AST, str]]:
    value = _literal(node)
    if value is _NO_LITERAL:
        return
    for problem in problems_in(schema, value, root, name):
        expected, got = problem["expected"], problem["got"]
        yield node, f"with `{_cut(problem['path'])}`: expected {expected}, got {got}"


def _literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except _UNREADABLE:
        return _NO_LITERAL


def _hint(name: str, known: Mapping[str, Any]) -> str:
    near = difflib.get_close_matches(name[:_SHOWN_CHARACTERS], known, n=1, cutoff=0.6)
    if near:
        return f"; did you mean `{near[0]}`?"
    return f"; it takes {', '.join(f'`{one}`' for one in known) or 'none'}"


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…"
