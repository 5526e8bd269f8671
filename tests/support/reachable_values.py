"""A breadth-first walk over all values that user space can reach without a call.

A step is what the language permits: an attribute that the guarded `getattr` returns, by any name
that the object has, with underscores or without; an item; what iteration gives; the type that user
space is shown. The number of steps is bounded because a few objects give a new object at every step
(`ChainMap.parents`).
"""

from __future__ import annotations

import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from caps.worker.inside.language.opaque_types import type_of

# Of endless iterators, and of containers that hold much of the same.
_MOST_ITEMS = 400
_ATOMS = (str, bytes, int, float, complex, bool, type(None), type(Ellipsis), range, slice)

Step = tuple[str, Any]


def reachable(
    roots: Mapping[str, Any], read: Callable[[Any, str], Any], steps: int
) -> Iterator[Step]:
    """Every value that at most `steps` steps lead to, with the way to it.

    `read` is the guarded `getattr`. Values that lead to the same further values are visited once.
    """
    seen: dict[Any, Any] = {}  # the values are kept, so that no identity is used twice
    queue = deque((way, value, 0) for way, value in roots.items())
    while queue:
        way, value, taken = queue.popleft()
        same = _sameness(value)
        if same in seen:
            continue
        seen[same] = value
        yield way, value
        if taken < steps:
            queue.extend((*step, taken + 1) for step in _steps(way, value, read))


def _steps(way: str, value: Any, read: Callable[[Any, str], Any]) -> Iterator[Step]:
    yield from _attributes(way, value, read)
    yield f"type({way})", type_of(value)
    if type(value) not in _ATOMS:
        yield from _items(way, value)


def _sameness(value: Any) -> Any:
    """Equal for two values from which the same can be reached."""
    kind = type(value)
    if kind in _ATOMS:
        return kind
    if kind is types.MethodType:
        return kind, id(value.__func__), _sameness_of_owner(value.__self__)
    if kind in (types.BuiltinMethodType, types.MethodWrapperType):
        return kind, value.__name__, _sameness_of_owner(value.__self__)
    if kind is types.GenericAlias:
        return kind, id(value.__origin__)
    return id(value)


def _sameness_of_owner(owner: Any) -> int:
    # A class method or a function of a module is bound to that one; another, to any of its kind.
    return id(owner if isinstance(owner, (type, types.ModuleType)) else type(owner))


def _attributes(way: str, value: Any, read: Callable[[Any, str], Any]) -> Iterator[Step]:
    for name in _names(value):
        try:
            found = read(value, name)
        except Exception:
            continue  # refused, or not there after all
        yield f"{way}.{name}", found


def _names(value: Any) -> set[str]:
    """What `dir` says, whatever the object would like it to say, and its class says."""
    names = {name for kind in type(value).__mro__ for name in vars(kind)}
    listings: tuple[Callable[[Any], Iterable[str]], ...] = (object.__dir__, dir)
    for listing in listings:
        try:
            names.update(listing(value))
        except Exception:
            continue  # an instance that was never initialised
    return {name for name in names if type(name) is str}


def _items(way: str, value: Any) -> Iterator[Step]:
    try:
        items = list(islice(iter(value), _MOST_ITEMS))
    except BaseException:
        return  # it cannot be iterated over, or not now
    for number, item in enumerate(items):
        yield f"list({way})[{number}]", item
        if isinstance(value, Mapping):
            try:
                yield f"{way}[{item!r:.40}]", value[item]
            except Exception:
                continue
