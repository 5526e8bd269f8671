"""(1) Values of a program as plain JSON: copied, bounded, and refused if JSON cannot hold them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

JSON_DEPTH: Final = 32
# As many as fit into the text of the largest policy.
JSON_ITEMS: Final = 512 * 1024
# JSON readers disagree about larger integers, and RFC 8785 has no canonical form for them.
_MAX_INTEGER = 2**53 - 1


class NotJsonError(ValueError):
    """A value that JSON cannot represent exactly; `path` is its place inside the whole value."""

    def __init__(self, what: str, path: tuple[str | int, ...]) -> None:
        super().__init__(what)
        self.path = path


def plain_json(value: object) -> Any:
    """A deep copy of `value` in plain JSON types only. Raises NotJsonError if there is none.

    Also if it has too many items: a few containers that hold each other have any number.
    """
    return _PlainCopy().of(value, ())


class _PlainCopy:
    """Copies one value."""

    def __init__(self) -> None:
        self._items_left = JSON_ITEMS

    def of(self, value: object, path: tuple[str | int, ...]) -> Any:
        self._items_left -= 1
        if self._items_left < 0:
            raise NotJsonError(f"has more than {JSON_ITEMS} items", path[:1])
        if value is None or type(value) is bool:
            return value
        if type(value) is str:
            return _plain_text(value, path)
        if type(value) is int or type(value) is float:
            return _plain_number(value, path)
        if len(path) >= JSON_DEPTH:
            raise NotJsonError(f"nested deeper than {JSON_DEPTH} levels", path)
        try:
            if isinstance(value, list | tuple):
                return [self.of(item, (*path, index)) for index, item in enumerate(value)]
            if isinstance(value, Mapping):
                return {_plain_key(k, path): self.of(v, (*path, str(k))) for k, v in value.items()}
        except NotJsonError:
            raise
        except Exception as error:  # a mapping may be anybody's code
            kind = type(error).__name__
            raise NotJsonError(f"could not be read, it failed with `{kind}`", path) from error
        raise NotJsonError(f"should be JSON data, got `{type(value).__name__}`", path)


def _plain_key(key: object, path: tuple[str | int, ...]) -> str:
    if type(key) is not str:
        raise NotJsonError(f"keys should be strings, got `{type(key).__name__}`", path)
    return _plain_text(key, path)


def _plain_text(text: str, path: tuple[str | int, ...]) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise NotJsonError("text holds half of a surrogate pair", path) from None
    return text


def _plain_number(number: int | float, path: tuple[str | int, ...]) -> int | float:
    if type(number) is int:
        if abs(number) > _MAX_INTEGER:
            raise NotJsonError("integer is beyond 2**53 - 1 and would lose precision", path)
    elif not math.isfinite(number):
        raise NotJsonError("should be a finite number", path)
    return number
