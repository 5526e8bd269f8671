"""Scripts: what is a turn, and what is not."""

from __future__ import annotations

import pytest

from caps import ConfigurationError
from caps.agents.runner.scripted_engine import ScriptedCall, Turn, read_script


def test_a_script() -> None:
    """Calls, code and answers, in order."""
    script = b'[{"calls": [{"name": "a"}]}, {"code": "1"}, {"answer": ""}]'
    assert read_script(script) == [
        Turn(calls=(ScriptedCall(name="a", arguments={}),)),
        Turn(code="1"),
        Turn(answer=""),
    ]


@pytest.mark.parametrize(
    "script",
    [
        b"",
        b"{}",
        b"[{}]",
        b'[{"calls": []}]',
        b'[{"answer": "a", "code": "b"}]',
        b'[{"says": "a"}]',
        b'[{"calls": [{"name": 1}]}]',
        b"\xff",
        b'[{"calls": [{"name": "a", "arguments": ' + b"[" * 100_000,
    ],
)
def test_what_is_no_script(script: bytes) -> None:
    """It is refused before the first turn."""
    with pytest.raises(ConfigurationError, match="the script cannot be read"):
        read_script(script)
