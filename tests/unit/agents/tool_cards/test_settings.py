"""The settings of tool cards."""

from __future__ import annotations

import pytest

from caps.agents.tool_cards.settings import CardMode, CardSettings
from caps.protocol.errors import ConfigurationError


def test_without_variables_cards_are_off() -> None:
    """And nothing is required."""
    assert CardSettings.from_environment({}) == CardSettings()


def test_all_are_read_and_the_secret_is_not_shown() -> None:
    """Agent types are separated by spaces."""
    secret = "0123456789abcdef"
    found = CardSettings.from_environment(
        {
            "CAPS_CAPABILITY_CARDS": "refuse",
            "CAPS_CAPABILITY_SIGNING_SECRET": secret,
            "CAPS_CAPABILITY_REQUIRED_AGENTS": "files  math",
        }
    )
    assert found.mode is CardMode.REFUSE
    assert found.required_agents == ("files", "math")
    assert found.signing_secret == secret.encode()
    assert secret not in repr(found)


@pytest.mark.parametrize(
    "wrong", [{"CAPS_CAPABILITY_CARDS": "on"}, {"CAPS_CAPABILITY_SIGNING_SECRET": "too short"}]
)
def test_a_wrong_value_is_refused(wrong: dict[str, str]) -> None:
    """Without showing a secret."""
    with pytest.raises(ConfigurationError) as raised:
        CardSettings.from_environment(wrong)
    assert "too short" not in raised.value.message
