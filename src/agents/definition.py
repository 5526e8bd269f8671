"""A new agent, from a file or from what a program says of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec

from caps.protocol.errors import AgentInvalidError

if TYPE_CHECKING:
    from caps.store.repositories.agents import Capabilities, StoredAgent

MAX_DEFINITION_BYTES: Final = 1024 * 1024
MAX_NAME_CHARACTERS: Final = 200


class AgentDefinition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an agent is. The capabilities are checked by the registry."""

    name: Annotated[
        str, msgspec.Meta(min_length=1, max_length=MAX_NAME_CHARACTERS, pattern=r"^[^\x00]*$")
    ]
    description: Annotated[str, msgspec.Meta(max_length=4096, pattern=r"^[^\x00]*$")] = ""
    system_prompt: Annotated[str, msgspec.Meta(max_length=256 * 1024, pattern=r"^[^\x00]*$")] = ""
    capabilities: dict[str, Any] | list[str] = msgspec.field(default_factory=list)
    policy: dict[str, Any] | None = None


def read_definition(data: bytes) -> AgentDefinition:
    """The agent that a JSON document describes. Raises AgentInvalidError."""
    try:
        return msgspec.json.decode(data, type=AgentDefinition)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise AgentInvalidError(f"the agent cannot be read: {error}", place="$") from None


def new_agent(
    name: str,
    capabilities: Capabilities = (),
    *,
    system_prompt: str = "",
    description: str = "",
    policy: Mapping[str, Any] | None = None,
    created_by: str = "anonymous",
) -> StoredAgent:
    """An agent with a new id, not stored yet."""
    # Here: a definition is also read for a service, where no store is installed.
    from caps.store.columns import new_id, now
    from caps.store.repositories.agents import StoredAgent

    time = now()
    return StoredAgent(
        id=new_id(),
        name=name,
        description=description,
        system_prompt=system_prompt,
        status="active",
        capabilities=capabilities,
        policy=policy,
        created_by=created_by,
        revision=1,
        created_at=time,
        updated_at=time,
    )
