"""(4) `str.format` that never reads attributes: a field may use arguments and items alone.

A field like `{0.x.y[z]}` reads attributes by names inside a string, where no compiler sees them.
"""

from __future__ import annotations

import _string  # type: ignore[import-not-found]  # what string.Formatter itself stands on
from collections.abc import Iterator, Mapping
from typing import Any


def reads_no_attribute(template: str) -> bool:
    """Whether the real method may have this template; what is none, it will refuse itself."""
    try:
        return next(_walking_fields(template), None) is None
    except ValueError:
        return True


def _walking_fields(template: str, depth: int = 2) -> Iterator[str]:
    """The fields that read attributes; a format specification may hold fields of its own."""
    for _, field, spec, _ in _string.formatter_parser(template):
        if field is not None:
            _, rest = _string.formatter_field_name_split(field)
            if any(is_attribute for is_attribute, _ in rest):
                yield field
        if spec and depth:
            yield from _walking_fields(spec, depth - 1)


def _check(template: str) -> str:
    for field in _walking_fields(template):
        raise ValueError(f"`{field}`: a format cannot read attributes; use an f-string")
    return template


class BoundText:
    """What `"…".format` belongs to in user space."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def format(self, *args: Any, **kwargs: Any) -> str:
        return str.format(_check(self._text), *args, **kwargs)

    def format_map(self, mapping: Mapping[str, Any]) -> str:
        return str.format_map(_check(self._text), mapping)


class UnboundText:
    """What `str.format` belongs to."""

    __slots__ = ()

    @staticmethod
    def format(template: str, /, *args: Any, **kwargs: Any) -> str:
        return str.format(_check(_plain(template)), *args, **kwargs)

    @staticmethod
    def format_map(template: str, /, mapping: Mapping[str, Any]) -> str:
        return str.format_map(_check(_plain(template)), mapping)


def _plain(template: str) -> str:
    if not isinstance(template, str):
        raise TypeError(f"a template is a string, not a `{type(template).__name__}`")
    return str.__str__(template)  # a subclass could show one text here and another to the method
