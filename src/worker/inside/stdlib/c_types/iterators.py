"""(4) `itertools` without the iterators that user code could re-enter.

An iterator of `itertools` frees its source when the source ends, even if a call of that source is
still running: user code that asks for the next item from inside such a call gets freed memory.

- Over plain containers, no user code runs when an item is read: user space gets the library's own
  iterator, at its speed.
- Over anything else (a generator, a `map`, an iterator of the user's), the library's iterator is
  driven by a generator. Python itself refuses to re-enter a generator.
- `accumulate`, `groupby` and `pairwise` also call user code with items, or free what they were
  asked with: they are written in Python. So is `batched`, which not every version has.

The others (`compress`, `dropwhile`, `product`, `tee`, …) keep what they use until they are freed.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

# Reading items of these, and their iterators, runs no user code.
_views: list[Any] = [{}.items(), {}.keys(), {}.values()]
_containers: list[Any] = [b"", [], range(0), range(1 << 99), set(), "", "\u0394", ()]
_PLAIN: frozenset[type] = frozenset(
    {bytes, dict, frozenset, list, range, set, str, tuple, itertools.repeat}
    | {type(one) for one in _views}
    | {type(iter(one)) for one in (*_views, *_containers)}
)
_NUMBERS: frozenset[type] = frozenset({int, float, complex, bool, Decimal, Fraction})

_ABSENT: Any = object()


def _driven(iterator: Iterator[Any]) -> Iterator[Any]:
    """The items of `iterator`; user code cannot re-enter it."""
    yield from iterator


def _guarded(iterator: Iterator[Any], *sources: Any) -> Iterator[Any]:
    """`iterator`, which reads from `sources`, in a form that user code cannot re-enter."""
    return iterator if _PLAIN.issuperset(map(type, sources)) else _driven(iterator)


class chain:  # noqa: N801 - the name that user space sees
    """`itertools.chain`; a call returns an iterator of another type."""

    __slots__ = ()

    def __new__(cls, *iterables: Any) -> Any:
        return _guarded(itertools.chain(*iterables), *iterables)

    @staticmethod
    def from_iterable(iterable: Any, /) -> Iterator[Any]:
        """`itertools.chain.from_iterable`."""
        # User code could add another kind of item to a list later, so take its items now.
        parts = tuple(iterable) if type(iterable) is list else iterable
        iterator = itertools.chain.from_iterable(parts)
        return _guarded(iterator, *parts) if type(parts) is tuple else _driven(iterator)


def count(start: Any = 0, step: Any = 1) -> Iterator[Any]:
    """`itertools.count`."""
    counter = itertools.count(start, step)
    return counter if _NUMBERS.issuperset((type(start), type(step))) else _driven(counter)


def cycle(iterable: Any, /) -> Iterator[Any]:
    """`itertools.cycle`."""
    iterator = itertools.cycle(iterable)
    return iterator if type(iterable) in _PLAIN else _driven(iterator)


def islice(iterable: Any, /, *bounds: Any) -> Iterator[Any]:
    """`itertools.islice`."""
    iterator = itertools.islice(iterable, *bounds)
    return iterator if type(iterable) in _PLAIN else _driven(iterator)


def zip_longest(*iterables: Any, fillvalue: Any = None) -> Iterator[Any]:
    """`itertools.zip_longest`."""
    # Also over plain containers: it frees an iterator twice if an item that it frees re-enters it.
    return _driven(itertools.zip_longest(*iterables, fillvalue=fillvalue))


def batched(iterable: Iterable[Any], n: int, *, strict: bool = False) -> Iterator[tuple[Any, ...]]:
    """`itertools.batched`."""
    size = operator.index(n)
    if size < 1:
        raise ValueError("n must be at least one")
    return _batches(iter(iterable), size, bool(strict))


def _batches(items: Iterator[Any], size: int, strict: bool) -> Iterator[tuple[Any, ...]]:
    while batch := tuple(itertools.islice(items, size)):
        if strict and len(batch) < size:
            raise ValueError("batched(): incomplete batch")
        yield batch


def pairwise(iterable: Iterable[Any], /) -> Iterator[tuple[Any, Any]]:
    """`itertools.pairwise`."""
    return _pairs(iter(iterable))


def _pairs(items: Iterator[Any]) -> Iterator[tuple[Any, Any]]:
    left = next(items, _ABSENT)
    if left is not _ABSENT:
        for right in items:
            yield left, right
            left = right


def accumulate(
    iterable: Iterable[Any], func: Callable[[Any, Any], Any] | None = None, *, initial: Any = None
) -> Iterator[Any]:
    """`itertools.accumulate`."""
    items = iter(iterable)
    return _sums(items, initial) if func is None else _totals(items, func, initial)


def _sums(items: Iterator[Any], total: Any) -> Iterator[Any]:
    if total is None:
        total = next(items, _ABSENT)
        if total is _ABSENT:
            return
    yield total
    for item in items:
        total = total + item  # `+=` would change the items themselves
        yield total


def _totals(items: Iterator[Any], func: Callable[[Any, Any], Any], total: Any) -> Iterator[Any]:
    if total is None:
        total = next(items, _ABSENT)
        if total is _ABSENT:
            return
    yield total
    for item in items:
        total = func(total, item)
        yield total


class groupby:  # noqa: N801 - the name that user space sees
    """`itertools.groupby`."""

    __slots__ = ("_group", "_item", "_items", "_key", "_key_of", "_target")

    def __init__(self, iterable: Iterable[Any], key: Callable[[Any], Any] | None = None) -> None:
        self._items = iter(iterable)
        self._key_of = key
        self._item = self._key = self._target = _ABSENT
        self._group: object = None

    def __iter__(self) -> groupby:
        return self

    def __next__(self) -> tuple[Any, Iterator[Any]]:
        group = self._group = object()
        while self._key is _ABSENT or self._is_same_group():
            self._step()
        self._target = self._key
        return self._key, self._members(group, self._key)

    def _is_same_group(self) -> bool:
        return self._target is not _ABSENT and _is_equal(self._target, self._key)

    def _step(self) -> None:
        item = next(self._items)
        self._key = item if self._key_of is None else self._key_of(item)
        self._item = item

    def _members(self, group: object, target: Any) -> Iterator[Any]:
        """The items of one group; it ends when the next group is asked for."""
        while self._group is group:
            if self._item is _ABSENT:
                try:
                    self._step()
                except StopIteration:
                    return
            if not _is_equal(target, self._key):
                return
            item, self._item, self._key = self._item, _ABSENT, _ABSENT
            yield item


def _is_equal(one: Any, other: Any) -> bool:
    return one is other or one == other


def itertools_names(_context: Any) -> dict[str, Any]:
    """The replacements in `itertools`."""
    stand_ins = (accumulate, batched, chain, count, cycle, groupby, islice, pairwise, zip_longest)
    return {one.__name__: one for one in stand_ins if hasattr(itertools, one.__name__)}
