"""Who an execution runs for. Set by the embedding program, never by the code."""

from __future__ import annotations

import os
from typing import Any

import msgspec

from caps.protocol.errors import ConfigurationError
from caps.protocol.ways import WAYS, Via


def new_id() -> str:
    """32 hexadecimal digits that nobody can guess: of an execution, a session or a request."""
    return os.urandom(16).hex()


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """The principal, and optionally the agent and the session that it acts through."""

    principal: str = "anonymous"
    agent: str | None = None
    session: str | None = None
    via: Via = "code"

    def __post_init__(self) -> None:
        """Raise ConfigurationError unless every field is a str or None.

        No reader could decode an audit record with any other type.
        """
        if not isinstance(self.principal, str):
            raise ConfigurationError(f"principal is `{self.principal!r:.80}`; set a string")
        for name, value in (("agent", self.agent), ("session", self.session)):
            if value is not None and not isinstance(value, str):
                raise ConfigurationError(f"{name} is `{value!r:.80}`; set a string or None")
        if self.via not in WAYS:
            raise ConfigurationError(f"via is `{self.via!r:.80}`; set one of {', '.join(WAYS)}")

    def who(self, execution_id: str) -> dict[str, Any]:
        """The fields that identify the caller in audit records and provider contexts."""
        return {
            "execution_id": execution_id,
            "principal": self.principal,
            "agent": self.agent,
            "session": self.session,
        }
