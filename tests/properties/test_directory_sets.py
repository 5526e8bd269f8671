"""Sets of directories as the review of a `files` scope compares them, held against naive models."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from caps.providers.files.path_text import Parts
from caps.providers.files.scope_review import (
    covering_directories,
    is_beneath,
    width_of_directories,
)
from caps.security.review.width import Breadth, width_of

directories = st.lists(
    st.lists(st.sampled_from("ab"), max_size=4).map(tuple), min_size=1, max_size=6
)


def reached(places: Iterable[Parts], roots: list[Parts]) -> set[Parts]:
    return {place for place in places if any(is_beneath(place, root) for root in roots)}


def protected(roots: list[Parts]) -> set[Parts]:
    """An allowed directory and all that contain it cannot be changed."""
    return {root[:length] for root in roots for length in range(len(root) + 1)}


@given(directories, directories)
def test_the_width_is_that_of_the_places_that_can_be_changed(
    older: list[Parts], newer: list[Parts]
) -> None:
    """Whether either reaches, or lets code change, a place that the other does not."""
    places = protected(older) | protected(newer)
    places |= {(*place, "new") for place in places}
    readable = [reached(places, roots) for roots in (older, newer)]
    changeable = [reached(places, roots) - protected(roots) for roots in (older, newer)]
    for changing in (False, True):
        kinds = [readable, changeable] if changing else [readable]
        expected = width_of(
            more=any(new - old for old, new in kinds), less=any(old - new for old, new in kinds)
        )
        assert width_of_directories(older, newer, changing=changing) is expected


@given(st.dictionaries(st.lists(st.sampled_from("ab"), max_size=4).map(tuple), st.integers()))
def test_covering_directories_contain_all_and_none_contains_another(
    needed: dict[Parts, int],
) -> None:
    """Each call that needs a directory is counted for the one that covers it."""
    found = covering_directories({parts: [call] for parts, call in needed.items()})
    for parts, call in needed.items():
        assert [call in calls for root, calls in found.items() if is_beneath(parts, root)] == [True]
    assert not any(one != other and is_beneath(one, other) for one in found for other in found)


def test_deep_directories_take_no_more_than_their_size() -> None:
    """The longest paths and as many of them as a scope may have."""
    deep = [(f"d{index}", *["a"] * 2040) for index in range(256)]
    deeper = [(*parts, "b") for parts in deep]
    assert width_of_directories(deep, deeper, changing=True) is Breadth.NARROWER
    assert len(covering_directories({parts: [0] for parts in deep[:16]})) == 16
