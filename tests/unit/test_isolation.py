"""Whether the layers are enough: less than every one, fully, needs the operator's word."""

from __future__ import annotations

import pytest

from caps.capabilities.isolation import ISOLATION_VARIABLE, judge_isolation
from caps.protocol.enforcement import LAYERS, Enforcement, Layer, gaps
from caps.protocol.errors import ConfigurationError


def layers(**changed: Enforcement) -> list[Layer]:
    """Every layer fully in force, but for the changed ones."""
    return [
        Layer(name=name, enforcement=changed.get(name, Enforcement.FULLY), detail="")
        for name in LAYERS
    ]


WEAK = layers(landlock=Enforcement.PARTIALLY, seccomp=Enforcement.NOT)


@pytest.fixture(autouse=True)
def _no_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ISOLATION_VARIABLE, raising=False)


@pytest.mark.parametrize("given", [None, "", "full", "best-effort"])
def test_every_layer_fully_in_force_is_enough(given: str | None) -> None:
    """Then nothing is degraded, whatever the operator said."""
    assert judge_isolation(layers(), given) is None


@pytest.mark.parametrize("given", [None, "", "full"])
def test_less_is_refused_and_every_gap_is_named(given: str | None) -> None:
    """A layer that holds in part is a gap, too."""
    error = judge_isolation(WEAK, given)
    assert isinstance(error, ConfigurationError)
    assert error.missing == ["landlock", "seccomp"]
    assert "landlock partially, seccomp not" in error.message
    assert "CAPS_ISOLATION=best-effort" in error.message
    assert "\n" not in error.message


def test_with_the_operators_word_the_records_name_the_gaps() -> None:
    """The summary is what every record of an execution carries."""
    assert judge_isolation(WEAK, "best-effort") == "landlock partially, seccomp not"


def test_the_word_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is given in code stands in for it, in both directions."""
    monkeypatch.setenv(ISOLATION_VARIABLE, "best-effort")
    assert judge_isolation(WEAK, None) == "landlock partially, seccomp not"
    assert isinstance(judge_isolation(WEAK, "full"), ConfigurationError)


@pytest.mark.parametrize("word", ["none", "BEST-EFFORT", "best_effort", "0", " full"])
def test_any_other_word_is_refused(monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    """A misspelt word never widens anything, even where every layer holds."""
    monkeypatch.setenv(ISOLATION_VARIABLE, word)
    for reported in (layers(), WEAK):
        error = judge_isolation(reported, None)
        assert isinstance(error, ConfigurationError)
        assert f"`{word}`" in error.message


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_that_nobody_reported_is_a_gap(name: str) -> None:
    """A report that lacks a layer is not full."""
    reported = [layer for layer in layers() if layer.name != name]
    assert [(gap.name, gap.enforcement) for gap in gaps(reported)] == [(name, Enforcement.NOT)]
    assert judge_isolation(reported, "best-effort") == f"{name} not"


def test_no_report_at_all_is_all_gaps() -> None:
    """Nothing is taken for granted."""
    error = judge_isolation([], None)
    assert isinstance(error, ConfigurationError)
    assert error.missing == list(LAYERS)
