"""Who an execution runs for. Told by the embedding program, never by the code."""

from __future__ import annotations

from typing import Any

import msgspec

from caps.protocol.errors import ConfigurationError


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """The principal, and where it matters the agent and session it acts through."""

    principal: str = "anonymous"
    agent: str | None = None
    session: str | None = None

    def __post_init__(self) -> None:
        """A ConfigurationError for what is no text: nobody could read a record that has it."""
        if not isinstance(self.principal, str):
            raise ConfigurationError(f"principal is `{self.principal!r:.80}`; set a text")
        for name, value in (("agent", self.agent), ("session", self.session)):
            if value is not None and not isinstance(value, str):
                raise ConfigurationError(f"{name} is `{value!r:.80}`; set a text or None")

    def who(self, execution_id: str) -> dict[str, Any]:
        """The fields that say who, as audit records and provider contexts carry them."""
        return {
            "execution_id": execution_id,
            "principal": self.principal,
            "agent": self.agent,
            "session": self.session,
        }
