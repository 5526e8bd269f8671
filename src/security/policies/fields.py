"""What the fields of a policy have in common: lists, and strings in the JSON Schema."""

from __future__ import annotations

from pydantic import WithJsonSchema


def as_tuple(value: object) -> object:
    """Lists and sets as tuples. The items are not converted, and other values stay as they are."""
    # JSON has only arrays, and Python callers may pass sets.
    if isinstance(value, set | frozenset):
        return tuple(sorted(value, key=str))
    return tuple(value) if isinstance(value, list) else value


def sorted_unique(texts: tuple[str, ...]) -> tuple[str, ...]:
    """The normal form of a list whose order means nothing."""
    return tuple(sorted(set(texts)))


def string_schema(pattern: str) -> WithJsonSchema:
    """The schema of a string of this pattern, for editors. The validators are authoritative."""
    return WithJsonSchema({"type": "string", "pattern": pattern})
