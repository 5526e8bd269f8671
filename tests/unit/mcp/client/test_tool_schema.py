"""Schemas of servers: what is refused, and what a result looks like."""

from __future__ import annotations

from typing import Any

import pytest

from caps.capabilities.schemas.schema import CompiledSchema
from caps.mcp.bridge_messages import ListedTool
from caps.mcp.client.registering import accepted_tools
from caps.mcp.client.tool_schema import input_schema, output_schema
from caps.protocol.errors import RegistrationError
from support.hostile_mcp_server import LISTS
from support.mcp_servers import hostile, pinned


@pytest.mark.parametrize("mode", sorted(LISTS))
def test_a_tool_with_a_hostile_schema_is_refused(mode: str) -> None:
    """It is listed with the reason, and never becomes a function."""
    (offered,) = LISTS[mode]()
    tool = ListedTool(
        name=offered["name"],
        description=offered["description"],
        input_schema=offered["inputSchema"],
    )
    configured = hostile(mode)
    (found,) = accepted_tools(configured, pinned(configured, tool))
    assert found.spec is None
    assert found.problem


def test_an_output_schema_keeps_its_references() -> None:
    """It lies deeper in the schema of the result, and its references are moved with it."""
    own: dict[str, Any] = {
        "$defs": {"n": {"type": "integer"}},
        "type": "object",
        "properties": {"sum": {"$ref": "#/$defs/n"}},
    }
    compiled = CompiledSchema(output_schema(own), "it")
    assert not compiled.problems({"text": "", "content": [], "structured": {"sum": 1}})
    assert compiled.problems({"text": "", "content": [], "structured": {"sum": "one"}})
    assert compiled.problems({"text": "", "content": []})


def test_a_schema_may_name_its_dialect() -> None:
    """Generators write `$schema`; it changes nothing."""
    given = {"$schema": "http://json-schema.org/draft-07/schema#", "properties": {}}
    assert input_schema(given) == {"type": "object", "properties": {}}


def test_the_schema_of_arguments_is_that_of_an_object() -> None:
    with pytest.raises(RegistrationError, match="not that of an object"):
        input_schema({"type": "array"})
