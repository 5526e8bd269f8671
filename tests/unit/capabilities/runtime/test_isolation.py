"""Whether the layers are enough: anything less than all of them needs the operator's consent."""

from __future__ import annotations

import pytest

from caps.capabilities.runtime.isolation import (
    CachedIsolationCheck,
    check_isolation,
    isolation_mode,
)
from caps.protocol.enforcement import LAYERS, Enforcement, Layer, missing_layers
from caps.protocol.environment import Variable
from caps.protocol.errors import ConfigurationError, IsolationError


def layers(**changed: Enforcement) -> list[Layer]:
    """Every layer fully in force, except the changed ones."""
    return [
        Layer(name=name, enforcement=changed.get(name, Enforcement.FULLY), detail="")
        for name in LAYERS
    ]


WEAK = layers(landlock=Enforcement.PARTIALLY, seccomp=Enforcement.NOT)


@pytest.fixture(autouse=True)
def _no_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(Variable.ISOLATION.key, raising=False)


@pytest.mark.parametrize("wanted", ["full", "best-effort"])
def test_every_layer_fully_in_force_is_enough(wanted: str) -> None:
    """Then nothing is degraded, whatever the operator said."""
    assert check_isolation(layers(), wanted) is None


def test_less_is_refused_and_every_gap_is_named() -> None:
    """A layer that holds in part is a gap, too."""
    error = check_isolation(WEAK, "full")
    assert isinstance(error, IsolationError)
    assert error.missing == ["landlock", "seccomp"]
    assert "landlock partially, seccomp not" in error.message
    assert "CAPS_ISOLATION=best-effort" in error.message
    assert "\n" not in error.message


def test_with_the_operators_word_the_records_name_the_gaps() -> None:
    """The summary is what every record of an execution carries."""
    assert check_isolation(WEAK, "best-effort") == "landlock partially, seccomp not"


@pytest.mark.parametrize(
    ("variable", "given", "wanted"),
    [
        (None, None, "full"),
        ("", "", "full"),
        ("best-effort", None, "best-effort"),
        ("best-effort", "full", "full"),
        ("full", "best-effort", "best-effort"),
    ],
)
def test_full_is_wanted_unless_somebody_says_otherwise(
    monkeypatch: pytest.MonkeyPatch, variable: str | None, given: str | None, wanted: str
) -> None:
    """The environment sets it, and an argument overrides that."""
    if variable is not None:
        monkeypatch.setenv(Variable.ISOLATION.key, variable)
    assert isolation_mode(given) == wanted


@pytest.mark.parametrize("word", ["none", "BEST-EFFORT", "best_effort", "0", " full"])
def test_any_other_word_is_refused(monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    """A misspelt value never widens anything."""
    with pytest.raises(ConfigurationError, match=f"`{word}`"):
        isolation_mode(word)
    monkeypatch.setenv(Variable.ISOLATION.key, word)
    with pytest.raises(ConfigurationError, match=f"`{word}`"):
        isolation_mode(None)


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_that_nobody_reported_is_a_gap(name: str) -> None:
    """A report that lacks a layer is not full."""
    reported = [layer for layer in layers() if layer.name != name]
    assert [(gap.name, gap.enforcement) for gap in missing_layers(reported)] == [
        (name, Enforcement.NOT)
    ]
    assert check_isolation(reported, "best-effort") == f"{name} not"


def test_no_report_at_all_is_all_gaps() -> None:
    """Nothing is taken for granted."""
    error = check_isolation([], "full")
    assert isinstance(error, IsolationError)
    assert error.missing == list(LAYERS)


PART_OF_THE_LANGUAGE = layers(language=Enforcement.PARTIALLY)


def test_real_modules_that_were_granted_are_no_gap() -> None:
    """The policy allowed it; no further consent is needed."""
    assert check_isolation(PART_OF_THE_LANGUAGE, "full", ("numpy",)) is None


def test_without_a_grant_the_same_report_is_a_gap() -> None:
    """A zygote cannot excuse itself: only the policy can."""
    error = check_isolation(PART_OF_THE_LANGUAGE, "full")
    assert isinstance(error, IsolationError)
    assert error.missing == ["language"]


@pytest.mark.parametrize("name", LAYERS)
def test_a_grant_excuses_no_other_gap(name: str) -> None:
    """Neither a layer that is not there at all, nor part of another one."""
    error = check_isolation(layers(**{name: Enforcement.NOT}), "full", ("numpy",))
    assert isinstance(error, IsolationError)
    if name != "language":
        error = check_isolation(layers(**{name: Enforcement.PARTIALLY}), "full", ("numpy",))
        assert isinstance(error, IsolationError)
    assert error.missing == [name]


def test_a_runtime_judges_layers_again_when_they_are_others() -> None:
    """A zygote that was started again, or other modules, is never taken for the earlier one."""
    judge = CachedIsolationCheck("best-effort")
    full, weak = tuple(layers()), tuple(WEAK)
    assert judge.check(full, ()).verdict is None
    assert judge.check(weak, ()).verdict == "landlock partially, seccomp not"
    assert ("seccomp", "not") in judge.check(weak, ()).recorded
    in_part = tuple(layers(language=Enforcement.PARTIALLY))
    assert judge.check(in_part, ("numpy",)).verdict is None
    assert judge.check(in_part, ()).verdict == "language partially"
    assert judge.check(full, ()).verdict is None


def test_a_runtime_refuses_each_with_an_error_of_its_own() -> None:
    """An error keeps where it was raised."""
    judge, weak = CachedIsolationCheck("full"), tuple(WEAK)
    first, second = judge.check(weak, ()).verdict, judge.check(weak, ()).verdict
    assert isinstance(first, IsolationError)
    assert isinstance(second, IsolationError)
    assert first is not second
