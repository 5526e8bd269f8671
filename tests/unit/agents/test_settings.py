"""The settings of a process, parsed, and where they come from."""

from __future__ import annotations

from pathlib import Path

import pytest

from caps.agents.settings import MASK, Settings, Source, settings_problems, settings_shown
from caps.agents.tool_cards.settings import CardMode
from caps.protocol.environment import Variable
from caps.protocol.errors import ConfigurationError

PASSWORD = "a-password-nobody-sees"


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for variable in Variable:
        monkeypatch.delenv(variable.key, raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def test_without_any_setting_all_are_defaults(tmp_path: Path) -> None:
    """And they can be used."""
    assert settings_problems() == []
    assert {each.source for each in settings_shown()} == {Source.DEFAULT}
    found = Settings.load()
    assert (found.isolation, found.cards.mode) == ("full", CardMode.OFF)
    assert found.store == str(tmp_path / "caps" / "caps.db")


def test_a_value_that_may_hold_a_secret_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every one of them."""
    for variable in Variable:
        if variable.masked:
            monkeypatch.setenv(variable.key, PASSWORD)
    shown = {each.variable: each.value for each in settings_shown()}
    assert PASSWORD not in str(shown)
    assert shown["CAPS_DATABASE_URL"] == shown["CAPS_CAPABILITY_SIGNING_SECRET"] == MASK


def test_each_problem_is_listed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """`load` raises the first."""
    monkeypatch.setenv("CAPS_ISOLATION", "none")
    monkeypatch.setenv("CAPS_CAPABILITY_CARDS", "on")
    assert len(settings_problems()) == 2
    with pytest.raises(ConfigurationError, match="CAPS_ISOLATION"):
        Settings.load()
    monkeypatch.setenv("CAPS_CONFIG", "/absent.toml")
    assert sum("/absent.toml" in problem for problem in settings_problems()) == 1


def test_what_the_service_needs_is_checked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The key that verifies tokens, directories, a group: each before anything starts."""
    (tmp_path / "short").write_text("short")
    monkeypatch.setenv("CAPS_TOKEN_SECRET_FILE", str(tmp_path / "short"))
    monkeypatch.setenv("CAPS_SECRETS_PATH", str(tmp_path / "absent"))
    monkeypatch.setenv("CAPS_CGROUP", "relative")
    found = " ".join(settings_problems())
    assert len(settings_problems()) == 3
    assert all(part in found for part in ("too short", "absent", "CAPS_CGROUP"))
    monkeypatch.setenv("CAPS_TOKEN_JWKS", str(tmp_path / "keys.json"))
    assert "exclude each other" in " ".join(settings_problems())


def test_every_variable_is_part_of_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable that nothing parses would never be checked. A token is never part of a value."""
    seen: set[Variable] = set()
    read = Variable.read

    def noted(variable: Variable, *arguments: object) -> str:
        seen.add(variable)
        return read(variable, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Variable, "read", noted)
    Settings.load()
    unparsed = set(Variable) - seen
    assert unparsed == {Variable.CONFIG, Variable.TOKEN, Variable.TOKEN_FILE}
