"""Who an execution runs for is text, or is refused before anything is recorded."""

from __future__ import annotations

from typing import Any

import pytest

from caps.capabilities.identity import Identity
from caps.protocol.errors import ConfigurationError


@pytest.mark.parametrize("name", ["principal", "agent", "session"])
@pytest.mark.parametrize("value", [42, b"ada", ["ada"], 0.5, {"name": "ada\n"}])
def test_what_is_no_text_is_refused(name: str, value: Any) -> None:
    """In one line that names the argument."""
    with pytest.raises(ConfigurationError) as caught:
        Identity(**{name: value})
    assert caught.value.message.startswith(f"{name} is `")
    assert "\n" not in caught.value.message


def test_a_principal_is_always_told() -> None:
    """An agent and a session may be missing."""
    assert Identity(agent=None, session=None).principal == "anonymous"
    nobody: Any = None
    with pytest.raises(ConfigurationError, match="principal is `None`"):
        Identity(principal=nobody)
