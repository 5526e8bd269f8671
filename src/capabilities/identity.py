"""Who an execution runs for. Told by the embedding program, never by the code."""

from __future__ import annotations

from typing import Any

import msgspec


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """The principal, and where it matters the agent and session it acts through."""

    principal: str = "anonymous"
    agent: str | None = None
    session: str | None = None

    def who(self, execution_id: str) -> dict[str, Any]:
        """The fields that say who, as audit records and provider contexts carry them."""
        return {
            "execution_id": execution_id,
            "principal": self.principal,
            "agent": self.agent,
            "session": self.session,
        }
