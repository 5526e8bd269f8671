"""Who a tool of a framework acts for; set by the embedding program, never by the model."""

from __future__ import annotations

from typing import TypedDict

from caps.capabilities.registry import PoliciesGiven


class CallerOptions(TypedDict, total=False):
    """The keyword arguments of `GrantedCaller`."""

    principal: str
    agent: str | None
    session: str | None
    policy: PoliciesGiven | None
