"""The bounds of a schema on a card: those of any schema that others wrote."""

from __future__ import annotations

from typing import Any

from caps.agents.tool_cards.errors import ToolCardError
from caps.capabilities.schemas.schema_bounds import MAX_EXPANDED_NODES
from caps.capabilities.schemas.schema_bounds import check_schema as check_bounds
from caps.protocol.errors import RegistrationError

__all__ = ["MAX_EXPANDED_NODES", "check_schema"]


def check_schema(schema: dict[str, Any], label: str) -> None:
    """Raise ToolCardError unless `schema` is a JSON Schema within the bounds. It is plain JSON."""
    try:
        check_bounds(schema, label)
    except RegistrationError as error:
        raise ToolCardError(error.message) from None
