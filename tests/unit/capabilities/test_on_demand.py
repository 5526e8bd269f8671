"""Values that are made when they are first used, and a registry that defers its functions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest

from caps.capabilities.on_demand import Once, OnDemand
from caps.capabilities.registry import CapabilityRegistry
from caps.capabilities.signature import derive
from caps.protocol.errors import PolicyInvalidError, RegistrationError
from caps.providers.builtin import builtin_registry

POLICY = {"id": "test", "allow": ["math.add"]}


def test_a_value_is_made_once() -> None:
    """However many threads ask for it at the same time."""
    made: list[object] = []
    together = Barrier(8)

    def make() -> object:
        made.append(object())
        return made[-1]

    once = Once(make)

    def ask(_: int) -> object:
        together.wait(30)
        return once.get()

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(ask, range(8)))
    assert (len(made), found) == (1, made * 8)


def test_a_value_that_cannot_be_made_is_tried_again() -> None:
    """The error reaches each caller; there is no half-made value."""
    tried: list[int] = []

    def make() -> int:
        tried.append(7)
        if len(tried) == 1:
            raise ValueError("no")
        return tried[-1]

    once = Once(make)
    with pytest.raises(ValueError, match="no"):
        once.get()
    assert (once.get(), once.get(), tried) == (7, 7, [7, 7])


def test_a_mapping_knows_its_names_without_making_a_value() -> None:
    """And makes the one that is asked for."""
    made: list[str] = []

    def make(name: str) -> str:
        made.append(name)
        return name.upper()

    values = OnDemand({name: Once(functools.partial(make, name)) for name in "abc"})
    assert (list(values), len(values)) == (["a", "b", "c"], 3)
    assert "a" in values
    assert "x" not in values
    assert not made
    assert (values["b"], values.get("c"), values.get("x"), values.get("x", 1)) == (
        "B",
        "C",
        None,
        1,
    )
    assert made == ["b", "c"]
    assert dict(values) == {"a": "A", "b": "B", "c": "C"}
    with pytest.raises(KeyError):
        values["x"]


@pytest.fixture
def derived(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the functions that registries derive, in order."""
    found: list[str] = []

    def counted(function: Callable[..., Any], *rest: Any) -> Any:
        found.append(function.__name__)
        return derive(function, *rest)

    monkeypatch.setattr("caps.capabilities.registry.derive", counted)
    return found


def test_only_granted_functions_are_derived(derived: list[str]) -> None:
    """Binding a policy, its chain and a grant need the names of the others, and why not."""
    registry = builtin_registry(plugins="off")
    grant = registry.inject("caps", "e1", POLICY)
    assert len(grant.chain.withheld_records) == len(registry) - 1
    assert derived == ["add"]


def test_a_withheld_function_is_derived_when_it_is_asked_for(derived: list[str]) -> None:
    """With the same terms as if it had been derived before."""
    lazy, eager = builtin_registry(plugins="off"), builtin_registry(plugins="off")
    functions = dict(eager.capabilities)
    assert len(derived) == len(functions) == len(eager)
    late, early = lazy.bind(POLICY), eager.bind(POLICY)
    assert late.reasons == early.reasons
    for name, terms in late.terms.items():
        other = early.terms[name]
        assert (terms.spec, terms.withheld, terms.rule) == (other.spec, other.withheld, other.rule)
        assert terms.provider is lazy.capabilities[name].provider
    assert late.terms_sha256 == early.terms_sha256


def test_policies_that_are_bound_before_and_after_are_about_the_same_functions() -> None:
    """A function is derived once for a registry, also if a registration was undone meanwhile."""
    registry = builtin_registry(plugins="off")
    before = registry.bind(POLICY)
    with pytest.raises(ZeroDivisionError), registry.all_or_nothing():
        raise ZeroDivisionError
    assert registry.chain([before, registry.bind({"id": "b", "allow": ["math.*"]})]).granted == (
        "math.add",
    )


def test_a_broken_policy_is_refused_before_anything_is_derived(derived: list[str]) -> None:
    """Its names are checked against the names of all functions."""
    registry = builtin_registry(plugins="off")
    with pytest.raises(PolicyInvalidError, match=r"no capability `math\.ad` is registered"):
        registry.bind({"id": "test", "allow": ["math.ad"]})
    assert derived == []


def test_a_function_of_a_program_is_checked_when_it_is_registered() -> None:
    """Only the built-in ones are deferred: an author sees an error where the function is."""
    registry = builtin_registry(plugins="off")
    with pytest.raises(RegistrationError, match="needs a return annotation"):

        @registry.capability("mine.broken")
        async def broken(a: int):  # type: ignore[no-untyped-def]
            return a

    assert "mine.broken" not in registry


def test_a_name_is_taken_before_its_function_is_derived(derived: list[str]) -> None:
    """Two functions cannot have one name, deferred or not."""
    registry = CapabilityRegistry()
    with registry.deferring():

        @registry.capability("a.b")
        async def first(a: int) -> int:
            return a

    async def second(a: int) -> int:
        return a

    with pytest.raises(RegistrationError, match=r"`a\.b` is registered already"):
        registry.capability("a.b")(second)
    assert derived == ["second"]
