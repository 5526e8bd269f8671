"""Copies as the library makes them, and only those: what a copy calls and writes is checked."""

from __future__ import annotations

import copy
import copyreg
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from caps.worker.inside.language.format_strings import BoundText
from caps.worker.inside.stdlib.copying import restrict_copying


class Thing:
    """An object whose copy is made by the rules of the test."""


class Ordinary:
    """An object with a dictionary and slots."""

    __slots__ = ("__dict__", "slot")


def make_thing() -> Thing:
    return Thing()


@pytest.fixture(autouse=True)
def restricted() -> None:
    restrict_copying()


@pytest.fixture
def reduced_to() -> Iterator[Callable[..., None]]:
    """Set what `copy` reads from a `Thing`."""

    def tell(*answer: Any) -> None:
        copyreg.pickle(Thing, lambda _thing: answer)

    yield tell
    copyreg.dispatch_table.pop(Thing, None)


@pytest.mark.parametrize("copier", [copy.copy, copy.deepcopy])
def test_the_attributes_of_an_object_are_copied(copier: Callable[[Any], Any]) -> None:
    """Those in its dictionary and those in its slots."""
    one: Any = Ordinary()
    one.a, one.slot = [1], [2]
    again = copier(one)
    assert (again.a, again.slot) == ([1], [2])
    assert (again.a is one.a) == (copier is copy.copy)


@pytest.mark.parametrize(
    "state",
    [
        {"__class__": Ordinary},
        {"__deepcopy__": None},
        (None, {"__reduce_ex__": None}),
        {type("Name", (str,), {})("a"): 1},
        type("Dict", (dict,), {})(a=1),
        (None, [("a", 1)]),
        "text",
    ],
)
def test_a_state_with_other_than_plain_names_is_refused(
    reduced_to: Callable[..., None], state: Any
) -> None:
    """Nothing is written that no guard has seen."""
    reduced_to(Thing, (), state)
    with pytest.raises(TypeError, match="a `Thing` cannot be copied"):
        copy.copy(Thing())


def test_a_function_that_looks_something_up_is_not_called(reduced_to: Callable[..., None]) -> None:
    """The copy is the object itself."""
    thing = Thing()
    reduced_to(getattr, (thing, "__class__"))
    assert copy.copy(thing) is copy.deepcopy(thing) is thing


@pytest.mark.parametrize(("module", "works"), [("json.decoder", False), ("numpy.random", True)])
def test_only_a_real_module_may_have_functions_that_make_copies(
    reduced_to: Callable[..., None], monkeypatch: pytest.MonkeyPatch, module: str, works: bool
) -> None:
    """What a policy grants is under no rule of the language; the rest is known."""
    monkeypatch.setattr(make_thing, "__module__", module)
    reduced_to(make_thing, ())
    if works:
        assert type(copy.copy(Thing())) is Thing
    else:
        with pytest.raises(TypeError, match="a `Thing` cannot be copied"):
            copy.copy(Thing())


def test_methods_of_ours_are_shared_and_those_of_others_are_copied() -> None:
    """A deep copy of a method has a copy of its object, unless that is ours."""
    ours = BoundText("a").format
    assert copy.copy(ours) is copy.deepcopy([ours])[0] is ours

    def method(self: Any) -> Any:
        return self

    thing = Thing()
    theirs = types.MethodType(method, thing)
    assert copy.copy(theirs) is theirs
    assert type(copy.deepcopy(theirs)()) is Thing
    assert copy.deepcopy(theirs)() is not thing
