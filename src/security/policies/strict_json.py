"""(1) JSON text, read more strictly than Python does: two readers cannot understand it differently.

A key that is given twice is an error. Numbers that other readers would round are left to
`plain_json`.
"""

from __future__ import annotations

import json
import math
from typing import Any

from caps.security.policies.plain_json import JSON_DEPTH, NotJsonError

# Far more digits than any number in a policy needs, and few enough to be cheap to convert.
_MAX_DIGITS = 400
_Path = tuple[str | int, ...]


def strict_json(text: str) -> Any:
    """The value of `text`. Raises json.JSONDecodeError; NotJsonError for what is ambiguous."""
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_int=_integer)
        repeated = _repeated_key(value, ())
    except RecursionError:
        raise NotJsonError(f"nested deeper than {JSON_DEPTH} levels", ()) from None
    if repeated is not None:
        raise NotJsonError("key is given twice", repeated)
    return value


class _RepeatedKey(dict[str, Any]):
    """An object with a repeated key. The parser does not know its path; a later walk finds it."""

    key = ""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) == len(pairs):
        return value
    repeated = _RepeatedKey(value)
    seen: set[str] = set()
    repeated.key = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
    return repeated


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= _MAX_DIGITS else math.inf


def _repeated_key(value: object, path: _Path) -> _Path | None:
    if isinstance(value, _RepeatedKey):
        return (*path, value.key)
    items: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    found = (_repeated_key(item, (*path, key)) for key, item in items)
    return next((place for place in found if place is not None), None)
