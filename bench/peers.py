"""Who stands beside Caps, what they are installed with, and whether they are here.

A peer that is missing, or that does not start, leaves its column empty and says how to get it; the
benchmark goes on without it.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Peer:
    """A distribution from PyPI that does part of what Caps does."""

    name: str
    module: str
    extra: str

    @property
    def missing(self) -> str | None:
        """Why it cannot be measured, and what to do; None if it is installed."""
        if importlib.util.find_spec(self.module) is not None:
            return None
        return f"{self.name} is not installed; `pip install -e '.[{self.extra}]'` brings it"


MONTY = Peer("monty", "pydantic_monty", "bench-monty")
SMOLAGENTS = Peer("smolagents", "smolagents", "bench-smolagents")
RESTRICTEDPYTHON = Peer("RestrictedPython", "RestrictedPython", "bench-restrictedpython")
MCP = Peer("mcp", "mcp", "bench-mcp")
CEDAR = Peer("cedarpy", "cedarpy", "bench-cedar")

EVERYONE = (MONTY, SMOLAGENTS, RESTRICTEDPYTHON, MCP, CEDAR)
