"""The roles of a principal. A higher one may do everything that a lower one may."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any, Final

import msgspec


class Role(enum.IntEnum):
    """In ascending order; `PUBLIC` is not a role of a token: its routes need none."""

    PUBLIC = 0
    VIEWER = 1
    RUNNER = 2
    PUBLISHER = 3
    ADMIN = 4

    @property
    def word(self) -> str:
        return self.name.lower()


ROLES: Final = {role.word: role for role in Role if role is not Role.PUBLIC}


class Principal(msgspec.Struct, frozen=True, kw_only=True):
    """Who asks, from the token and nothing else."""

    name: str
    role: Role
    agent: str | None = None
    """The id of the agent that the token is for; it is good for that agent alone."""
    policy: Mapping[str, Any] | None = None
    """A policy that is in the token: beneath all others, so it can only take away."""
    expires_at: int | None = None
    """When the token expires, in seconds of the epoch; None: nobody needs a token."""

    @property
    def is_confined(self) -> bool:
        """Whether the token is for less than its principal may do."""
        return self.agent is not None or self.policy is not None
