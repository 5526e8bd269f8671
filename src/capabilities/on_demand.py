"""(2) Values that are made when they are first used, each once: functions that nobody granted.

Deriving the schemas of a function takes a millisecond or two, and most executions use few of the
functions that exist.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Once(Generic[T]):
    """A value that `make` returns. If `make` raises, the next `get` calls it again."""

    __slots__ = ("_lock", "_make", "_value")

    def __init__(self, make: Callable[[], T]) -> None:
        self._make: Callable[[], T] | None = make
        # A provider that runs in a thread may ask at the same time as the loop.
        self._lock = threading.RLock()
        self._value: T | None = None

    def get(self) -> T:
        if self._make is not None:
            with self._lock:
                if self._make is not None:
                    self._value = self._make()
                    self._make = None
        value: Any = self._value
        made: T = value
        return made


class OnDemand(Mapping[str, T]):
    """A mapping of such values. Its names, their number and their order are known beforehand."""

    __slots__ = ("_each",)

    def __init__(self, each: Mapping[str, Once[T]]) -> None:
        self._each = each

    def __getitem__(self, name: str) -> T:
        return self._each[name].get()

    def get(self, name: str, default: Any = None) -> Any:
        """As of every mapping, without an exception for a name that it lacks."""
        found = self._each.get(name)
        return default if found is None else found.get()

    def __contains__(self, name: object) -> bool:
        return name in self._each

    def __iter__(self) -> Iterator[str]:
        return iter(self._each)

    def __len__(self) -> int:
        return len(self._each)
