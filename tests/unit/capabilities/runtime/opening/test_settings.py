"""What the environment may set: a bad value is an error, not a default."""

from __future__ import annotations

from typing import Any

import pytest

from caps.capabilities.runtime.opening.settings import capability_timeout_ms
from caps.capabilities.runtime.runtime import Runtime
from caps.protocol.environment import Variable
from caps.protocol.errors import ConfigurationError

VARIABLE = Variable.DEFAULT_TIMEOUT_MS.key


@pytest.fixture(autouse=True)
def _no_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of the test run has no effect."""
    monkeypatch.delenv(VARIABLE, raising=False)


def test_the_variable_has_the_name_that_the_specification_gives() -> None:
    """Operators set it by name."""
    assert VARIABLE == "CAPS_CAPABILITY_DEFAULT_TIMEOUT_MS"


def test_thirty_seconds_without_any_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable that is set to nothing is not set."""
    assert capability_timeout_ms(None) == 30_000
    monkeypatch.setenv(VARIABLE, "")
    assert capability_timeout_ms(None) == 30_000


def test_the_environment_sets_it_and_an_argument_beats_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The argument of the embedding program takes precedence."""
    monkeypatch.setenv(VARIABLE, "1500")
    assert capability_timeout_ms(None) == 1500
    assert capability_timeout_ms(20) == 20


@pytest.mark.parametrize("value", ["1", "3600000"])
def test_the_bounds_themselves_are_taken(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """From a millisecond to an hour."""
    monkeypatch.setenv(VARIABLE, value)
    assert capability_timeout_ms(None) == int(value)


@pytest.mark.parametrize("value", ["soon", "0", "-5", "1.5", "3600001", "1e3", "9" * 5000])
def test_a_bad_variable_is_an_error(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It names the variable and what may be set, and no runtime is made."""
    monkeypatch.setenv(VARIABLE, value)
    with pytest.raises(ConfigurationError) as caught:
        Runtime()
    assert caught.value.message.startswith(f"{VARIABLE} is `{value}`; set")


@pytest.mark.parametrize("value", [0, -1, 3_600_001])
def test_a_bad_argument_is_an_error(value: int) -> None:
    """The same bounds apply to an embedding program."""
    with pytest.raises(ConfigurationError, match="default_timeout_ms"):
        Runtime(default_timeout_ms=value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_workers_per_principal", 0),
        ("max_workers_per_principal", "3"),
        ("max_wait_ms", -1),
        ("max_wait_ms", 10**12),
        ("max_wait_ms", None),
    ],
)
def test_the_bounds_of_the_queue_are_checked(name: str, value: Any) -> None:
    """A wait has an end, and every principal may have a worker."""
    with pytest.raises(ConfigurationError, match=name):
        Runtime(**{name: value})


def test_a_runtime_needs_room_for_a_worker() -> None:
    """None at all could run nothing."""
    with pytest.raises(ConfigurationError, match="max_workers is `0`; set an integer"):
        Runtime(max_workers=0)
