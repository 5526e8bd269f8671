"""The stand-ins for `OrderedDict` and `defaultdict` do what the library's own types do."""

from __future__ import annotations

import collections
import copy
import json
import pprint
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caps.worker.inside.stdlib.c_types.default_dict import defaultdict
from caps.worker.inside.stdlib.c_types.library import replace_in_libraries
from caps.worker.inside.stdlib.c_types.ordered_dict import OrderedDict

_KEYS = st.integers(0, 9)
_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("set"), _KEYS),
        st.tuples(st.sampled_from(["delete", "pop", "first", "last"]), _KEYS),
        st.tuples(st.just("last"), _KEYS),
        st.tuples(st.sampled_from(["to the end", "to the beginning"]), _KEYS),
        st.tuples(st.sampled_from(["take first", "take last", "clear", "setdefault"]), _KEYS),
    ),
    max_size=60,
)


def _step(items: Any, name: str, key: int) -> Any:
    """One step; the result, or the class of the error."""
    actions: dict[str, Callable[[], Any]] = {
        "clear": items.clear,
        "delete": lambda: items.__delitem__(key),
        "first": lambda: next(iter(items), None),
        "last": lambda: next(reversed(items), None),
        "pop": lambda: items.pop(key),
        "set": lambda: items.__setitem__(key, f"value of {key}"),
        "setdefault": lambda: items.setdefault(key, "default"),
        "take first": lambda: items.popitem(last=False),
        "take last": items.popitem,
        "to the beginning": lambda: items.move_to_end(key, last=False),
        "to the end": lambda: items.move_to_end(key),
    }
    try:
        return actions[name]()
    except KeyError:
        return KeyError


@given(_STEPS)
def test_an_ordered_dictionary_keeps_the_order_of_the_library(steps: list[tuple[str, int]]) -> None:
    """After any steps, and each step returns the same."""
    ours, theirs = OrderedDict(), collections.OrderedDict[int, str]()
    for name, key in steps:
        assert _step(ours, name, key) == _step(theirs, name, key)
        assert list(ours.items()) == list(theirs.items())


def test_many_items_are_taken_from_the_front_in_order() -> None:
    """Also while others are added and touched."""
    items: Any = OrderedDict.fromkeys(range(1000))
    taken = []
    for number in range(1000, 3000):
        items[number] = None
        items.move_to_end(number - 300)
        taken.append(items.popitem(last=False)[0])
    assert sorted([*taken, *items]) == list(range(3000))
    assert list(items)[-1] == 2699


@pytest.mark.parametrize(
    "use",
    [
        repr,
        lambda items: (items == type(items)(b=2, a=1), items != type(items)(b=2, a=1)),
        lambda items: (items == {"b": 2, "a": 1}, items != {"b": 2, "a": 1}, items == 1),
        lambda items: [type(items | {"c": 3}).__name__, list(items | {"a": 3}), items | {"c": 3}],
        lambda items: list(({"z": 1} | items).items()),
        lambda items: repr(copy.deepcopy(items)),
        lambda items: repr(copy.copy(items)),
        lambda items: repr(items.copy()),
        lambda items: json.dumps(items),
        lambda items: pprint.pformat(items, width=10),
        lambda items: [*reversed(items.items())],
        lambda items: items.update(c=3) or [*items.values()],
        lambda items: items.__ior__({"d": 4}) is items,
    ],
)
def test_an_ordered_dictionary_looks_like_the_library_s(use: Callable[[Any], Any]) -> None:
    """Its text, comparisons, copies and unions."""
    replace_in_libraries()
    ours, theirs = (
        kind([("a", 1), ("b", 2)]) for kind in (OrderedDict, collections.OrderedDict[str, int])
    )
    assert use(ours) == use(theirs)


def test_a_subclass_decides_what_is_stored() -> None:
    """Its `__setitem__` is called for every item, as the library does."""

    class Doubled(OrderedDict):
        def __setitem__(self, key: Any, value: Any) -> None:
            super().__setitem__(key, value * 2)

    made = Doubled(a=1)
    made.update(b=2)
    assert made == {"a": 2, "b": 4}


@pytest.mark.parametrize(
    "use",
    [
        lambda items: [items["new"], items["new"].append(1), repr(items)],
        lambda items: [repr(items.copy()), repr(copy.copy(items)), repr(copy.deepcopy(items))],
        lambda items: [repr(items | {"b": 2}), repr({"b": 2} | items)],
        lambda items: [items.get("new"), "new" in items, items.default_factory],
        lambda items: pprint.pformat(items, width=10),
        lambda items: items == {"a": [1]},
    ],
)
def test_a_default_dictionary_does_what_the_library_s_does(use: Callable[[Any], Any]) -> None:
    """It creates what is missing, and looks the same."""
    replace_in_libraries()
    ours, theirs = (kind(list, {"a": [1]}) for kind in (defaultdict, collections.defaultdict))
    assert use(ours) == use(theirs)


def test_a_default_dictionary_without_a_factory_creates_nothing() -> None:
    """And a factory must be callable."""
    with pytest.raises(KeyError):
        defaultdict()["a"]
    with pytest.raises(TypeError, match="first argument must be callable or None"):
        defaultdict(5)
