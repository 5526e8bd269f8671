"""(4) A `str.format` that never reads attributes: a field may use only arguments and items.

A field such as `{0.x.y[z]}` names attributes inside a string, where the compiler cannot see them.
"""

from __future__ import annotations

import _string  # type: ignore[import-not-found]  # string.Formatter is built on it
from collections.abc import Iterator, Mapping
from typing import Any


def is_plain_template(template: str) -> bool:
    """Whether the real method may get this template; it refuses an invalid template itself."""
    try:
        return next(_attribute_fields(template), None) is None
    except ValueError:
        return True


def _attribute_fields(template: str, depth: int = 2) -> Iterator[str]:
    """The fields that read attributes, also those nested in a format specification."""
    for _, field, spec, _ in _string.formatter_parser(template):
        if field is not None:
            _, rest = _string.formatter_field_name_split(field)
            if any(is_attribute for is_attribute, _ in rest):
                yield field
        if spec and depth:
            yield from _attribute_fields(spec, depth - 1)


def _check(template: str) -> str:
    for field in _attribute_fields(template):
        raise ValueError(f"`{field}`: a format cannot read attributes; use an f-string")
    return template


class BoundText:
    """The object behind `"…".format` in user space."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def format(self, /, *args: Any, **kwargs: Any) -> str:
        return str.format(_check(self._text), *args, **kwargs)

    def format_map(self, mapping: Mapping[str, Any]) -> str:
        return str.format_map(_check(self._text), mapping)


class UnboundText:
    """The class behind `str.format` in user space."""

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
    return str.__str__(template)  # a subclass could give different text later
