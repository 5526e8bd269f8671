"""Agents from files: bounded, and nothing that no database keeps."""

from __future__ import annotations

import json
from typing import Any

import pytest

from caps import AgentInvalidError
from caps.agents.definition import new_agent, read_definition


def test_a_definition() -> None:
    """What is left out is empty."""
    found = read_definition(b'{"name": "a", "capabilities": {"files": {"dirs": []}}}')
    assert (found.name, found.system_prompt, found.policy) == ("a", "", None)
    assert found.capabilities == {"files": {"dirs": []}}


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"name": ""},
        {"name": "a" * 201},
        {"name": "a\0b"},
        {"name": "a", "system_prompt": "\0"},
        {"name": "a", "capabilities": "files"},
        {"name": "a", "tools": []},
        [],
    ],
)
def test_what_is_no_agent(document: Any) -> None:
    """It is refused in one line."""
    with pytest.raises(AgentInvalidError, match="the agent cannot be read") as caught:
        read_definition(json.dumps(document).encode())
    assert "\n" not in caught.value.message


def test_a_new_agent_has_its_own_id() -> None:
    """Two agents of one name are two agents."""
    assert new_agent("a").id != new_agent("a").id
