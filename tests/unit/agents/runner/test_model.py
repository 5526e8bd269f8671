"""What a run is told is checked before anything happens."""

from __future__ import annotations

from typing import Any

import pytest

from caps import ConfigurationError
from caps.agents.runner.model import RunContext, RunLimits, RunStatus
from caps.cli.agents.running import EXIT_BY_STATUS


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"principal": None}, "principal must be a `str`"),
        ({"session": 1}, "session must be a `str`, or None"),
        ({"thread": "a"}, "thread must be a `UUID`, or None"),
        ({"mode": "code"}, "mode must be a `CallMode`"),
        ({"limits": {}}, "limits must be `RunLimits`"),
    ],
)
def test_a_context_of_wrong_types(fields: dict[str, Any], message: str) -> None:
    """The error names the argument."""
    with pytest.raises(ConfigurationError, match=message):
        RunContext(**fields)


@pytest.mark.parametrize("name", RunLimits.__struct_fields__)
@pytest.mark.parametrize("value", [-1, 1.5, True, 2**60])
def test_a_limit_that_is_none(name: str, value: Any) -> None:
    """Each limit is an integer within bounds."""
    with pytest.raises(ConfigurationError, match=name):
        RunLimits(**{name: value})


def test_every_end_of_a_run_has_an_exit_code() -> None:
    """Also one that is added later."""
    assert set(EXIT_BY_STATUS) == {each.value for each in RunStatus}
