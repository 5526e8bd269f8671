"""The stand-ins for `itertools` do what the library does, and cannot be re-entered."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caps.worker.inside.stdlib.c_types import iterators

_ITEMS = st.lists(st.integers(0, 3), max_size=12)
_USES: list[Callable[[Any, Any], Any]] = [
    lambda tools, one: tools.chain(one, one, "ab"),
    lambda tools, one: tools.chain.from_iterable([one, "ab"]),
    lambda tools, one: tools.chain.from_iterable(iter([one, "ab"])),
    lambda tools, one: tools.islice(tools.cycle(one), 20),
    lambda tools, one: tools.islice(one, 1, 8, 2),
    lambda tools, one: tools.islice(one, 3),
    lambda tools, one: tools.zip_longest(one, "abc", fillvalue=7),
    lambda tools, one: tools.pairwise(one),
    lambda tools, one: tools.accumulate(one),
    lambda tools, one: tools.accumulate(one, operator.mul, initial=2),
    lambda tools, one: tools.accumulate(one, max),
    lambda tools, one: [(key, list(group)) for key, group in tools.groupby(one)],
    lambda tools, one: [(key, next(group)) for key, group in tools.groupby(one, lambda n: n // 2)],
    lambda tools, one: [(key, list(group)) for key, group in list(tools.groupby(one))],
    lambda tools, one: zip(tools.count(), one, strict=False),
    lambda tools, one: zip(tools.count(0.5, step=2), one, strict=False),
]


@pytest.mark.parametrize("use", _USES)
@pytest.mark.parametrize("source", [list, tuple, iter, lambda items: (one for one in items)])
@given(items=_ITEMS)
def test_a_stand_in_gives_the_same_items(
    use: Callable[[Any, Any], Any], source: Callable[[Any], Any], items: list[int]
) -> None:
    """From a container, an iterator and a generator."""
    if source in (list, tuple):
        assert list(use(iterators, source(items))) == list(use(itertools, source(items)))
        return
    # What can be read once only is read in the same order.
    ours, theirs = source(items), source(items)
    assert list(use(iterators, ours)) == list(use(itertools, theirs))
    assert list(ours) == list(theirs)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda tools: tools.chain(5).__next__(),
        lambda tools: tools.islice([1], -1),
        lambda tools: tools.cycle(5),
        lambda tools: tools.zip_longest(5),
        lambda tools: tools.pairwise(5),
        lambda tools: tools.accumulate(5),
        lambda tools: tools.groupby(5),
        lambda tools: tools.count("a"),
    ],
)
def test_a_wrong_argument_raises_the_same_error(wrong: Callable[[Any], Any]) -> None:
    """At the same time as in the library."""
    with pytest.raises((TypeError, ValueError)) as theirs:
        wrong(itertools)
    with pytest.raises(theirs.type):
        wrong(iterators)


def test_plain_containers_are_read_at_the_speed_of_the_library() -> None:
    """Their iterators are the library's own."""
    assert type(iterators.chain([1], "a", {1: 2}.items())) is itertools.chain
    assert type(iterators.chain.from_iterable([[1], (2,)])) is itertools.chain
    assert type(iterators.islice(range(5), 2)) is itertools.islice
    assert type(iterators.count(1, 2)) is itertools.count


def test_an_iterator_over_user_code_cannot_be_re_entered() -> None:
    """The library's own would free the generator while it runs."""

    def give() -> Iterator[int]:
        yield next(items)

    items: Iterator[int] = iterators.islice(give(), 5)
    with pytest.raises(ValueError, match="generator already executing"):
        next(items)


def test_batches_have_the_given_size() -> None:
    """As in the versions of Python that have them; the last one may be smaller."""
    assert list(iterators.batched("abcde", 2)) == [("a", "b"), ("c", "d"), ("e",)]
    assert list(iterators.batched([], 2)) == []
    assert list(iterators.batched("abcd", n=2, strict=True)) == [("a", "b"), ("c", "d")]
    with pytest.raises(ValueError, match="incomplete batch"):
        list(iterators.batched("abc", 2, strict=True))
    with pytest.raises(ValueError, match="at least one"):
        iterators.batched("abc", 0)


def test_batches_cannot_be_re_entered() -> None:
    """Python refuses to run the generator that is running."""
    batches: Iterator[Any] = iter(())
    batches = iterators.batched((next(batches) for _ in range(3)), 2)
    with pytest.raises(ValueError, match="already executing"):
        next(batches)
