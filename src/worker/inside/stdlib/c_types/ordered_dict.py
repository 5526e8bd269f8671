"""(4) `collections.OrderedDict` on top of `dict`, which keeps the order of its items, too.

The library's own type keeps pointers to its items while it calls `__eq__` and `__hash__` of keys,
and methods of subclasses. Code that removes the items meanwhile gets freed memory.

A dict takes long to find its first item if many items before it were removed. So the first call of
`popitem(last=False)` notes the order of all keys, and later calls use it until it is used up. Keys
that were removed meanwhile are noted, too: if they are there again, they are behind all the others.
"""

from __future__ import annotations

import operator
import reprlib
import sys
from collections.abc import MutableMapping
from typing import Any

_ABSENT: Any = object()
_SHOWS_DICT = sys.version_info >= (3, 12)


class OrderedDict(dict[Any, Any]):
    """Dictionary that remembers insertion order"""

    __slots__ = ("__dict__", "_front", "_removed")
    # The keys from last to first, as they were when `_front` was filled, and those removed since.
    _front: list[Any]
    _removed: set[Any]

    def __new__(cls, *_args: Any, **_items: Any) -> OrderedDict:
        self = dict.__new__(cls)
        self._front, self._removed = [], set()
        return self

    def __init__(self, other: Any = (), /, **items: Any) -> None:
        _update(self, other, **items)

    def update(self, other: Any = (), /, **items: Any) -> None:
        _update(self, other, **items)

    @classmethod
    def fromkeys(cls, iterable: Any, value: Any = None) -> Any:
        made = cls()
        for key in iterable:
            made[key] = value
        return made

    def setdefault(self, key: Any, default: Any = None) -> Any:
        if key in self:
            return self[key]
        self[key] = default
        return default

    def __delitem__(self, key: Any) -> None:
        dict.__delitem__(self, key)
        self._note_removal(key)

    def pop(self, key: Any, default: Any = _ABSENT) -> Any:
        value = dict.pop(self, key, default)
        if value is not _ABSENT:
            self._note_removal(key)
            return value
        raise KeyError(key)

    def clear(self) -> None:
        dict.clear(self)
        self._front, self._removed = [], set()

    def popitem(self, last: bool = True) -> tuple[Any, Any]:
        """Remove and return the last or the first item; KeyError if there is none."""
        if not last:
            return self._pop_first()
        item = dict.popitem(self)
        self._note_removal(item[0])
        return item

    def move_to_end(self, key: Any, last: bool = True) -> None:
        """Move an item to the end, or to the beginning; KeyError if there is no such item."""
        value = OrderedDict.pop(self, key)
        if last:
            dict.__setitem__(self, key, value)
            return
        others = dict(self)
        OrderedDict.clear(self)
        dict.__setitem__(self, key, value)
        dict.update(self, others)

    def _pop_first(self) -> tuple[Any, Any]:
        while dict.__len__(self):
            if not self._front:
                self._front, self._removed = list(dict.__reversed__(self)), set()
            key = self._front.pop()
            if key not in self._removed:
                value = dict.pop(self, key, _ABSENT)
                if value is not _ABSENT:
                    return key, value
        raise KeyError("dictionary is empty")

    def _note_removal(self, key: Any) -> None:
        if self._front:
            self._removed.add(key)
            if len(self._removed) > len(self._front):
                self._front, self._removed = [], set()

    def copy(self) -> Any:
        return type(self)(self)

    def __reduce__(self) -> tuple[Any, ...]:
        state = getattr(self, "__dict__", None)
        return type(self), (), dict(state) if state else None, None, iter(self.items())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OrderedDict):
            return dict.__eq__(self, other)
        return dict.__eq__(self, other) and all(map(operator.eq, self, other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None

    def __or__(self, other: Any) -> Any:
        if not isinstance(other, dict):
            return NotImplemented
        made = type(self)(self)
        made.update(other)
        return made

    def __ror__(self, other: Any) -> Any:
        if not isinstance(other, dict):
            return NotImplemented
        made = type(self)(other)
        made.update(self)
        return made

    def __ior__(self, other: Any) -> Any:
        self.update(other)
        return self

    @reprlib.recursive_repr()
    def __repr__(self) -> str:
        name = type(self).__name__
        if not self:
            return f"{name}()"
        return f"{name}({(dict if _SHOWS_DICT else list)(self.items())!r})"


def _update(target: OrderedDict, other: Any, /, **items: Any) -> None:
    if type(target).__setitem__ is dict.__setitem__:
        dict.update(target, other, **items)
    else:  # a subclass decides what is stored
        MutableMapping.update(target, other, **items)


# It is used as the library's own, and user classes may derive from it.
OrderedDict.__module__ = "collections"
