"""(4) `collections.defaultdict`, whose factory stays alive while it runs.

The library's own type calls `default_factory` without holding it. A factory that replaces itself
meanwhile is freed while it runs, and with it the arguments of a `functools.partial`.
"""

from __future__ import annotations

import collections
import reprlib
from collections.abc import Callable
from typing import Any


def _keeps_first() -> bool:
    """Whether a value that the factory itself stores stays: newer versions of Python keep it."""
    library: Any = collections.defaultdict(lambda: library.setdefault(0, 1) + 1)
    return bool(library[0] == 1)


_KEEPS_FIRST = _keeps_first()


class defaultdict(dict[Any, Any]):  # noqa: N801 - the name that user space sees
    """dict that creates missing values with its `default_factory`"""

    __slots__ = ("default_factory",)
    default_factory: Callable[[], Any] | None

    def __new__(cls, *_args: Any, **_items: Any) -> defaultdict:
        self = dict.__new__(cls)
        self.default_factory = None
        return self

    def __init__(self, default_factory: Any = None, /, *other: Any, **items: Any) -> None:
        if default_factory is not None and not callable(default_factory):
            raise TypeError("first argument must be callable or None")
        self.default_factory = default_factory
        dict.__init__(self, *other, **items)

    def __missing__(self, key: Any) -> Any:
        factory = self.default_factory
        if factory is None:
            raise KeyError(key)
        if _KEEPS_FIRST:
            return dict.setdefault(self, key, factory())
        value = self[key] = factory()
        return value

    def copy(self) -> Any:
        return type(self)(self.default_factory, self)

    __copy__ = copy

    def __reduce__(self) -> tuple[Any, ...]:
        factory = () if self.default_factory is None else (self.default_factory,)
        return type(self), factory, None, None, iter(self.items())

    def __or__(self, other: Any) -> Any:
        if not isinstance(other, dict):
            return NotImplemented
        made = type(self)(self.default_factory, self)
        made.update(other)
        return made

    def __ror__(self, other: Any) -> Any:
        if not isinstance(other, dict):
            return NotImplemented
        made = type(self)(self.default_factory, other)
        made.update(self)
        return made

    @reprlib.recursive_repr("...")
    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.default_factory!r}, {dict.__repr__(self)})"


# It is used as the library's own, and user classes may derive from it.
defaultdict.__module__ = "collections"
