"""The peers of Caps, the extras that install them, and whether they are installed.

A peer that is missing or does not start leaves its column empty; the benchmark continues without
it. The command that installs missing peers is printed once, at the start of a run.
"""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Peer:
    """A distribution from PyPI that does part of what Caps does."""

    name: str
    module: str
    extra: str

    @property
    def missing(self) -> str | None:
        """Why it cannot be measured and how to fix that; None if it is installed."""
        if importlib.util.find_spec(self.module) is not None:
            return None
        return f"{self.name} is not installed; `{installing(self.extra)}` brings it"


def installing(*extras: str) -> str:
    """A command that can be copied and run where the benchmark was started: in the checkout."""
    # Not resolved: the interpreter of a virtual environment is a link, and its location matters.
    python = Path(sys.executable)
    here = Path.cwd()
    if python.is_relative_to(here):
        python = python.relative_to(here)
    return f"{python} -m pip install -c constraints.txt -e '.[{','.join(extras)}]'"


def absent() -> tuple[Peer, ...]:
    """The peers that are not installed."""
    return tuple(peer for peer in EVERYONE if peer.missing is not None)


MONTY = Peer("monty", "pydantic_monty", "bench-monty")
SMOLAGENTS = Peer("smolagents", "smolagents", "bench-smolagents")
RESTRICTEDPYTHON = Peer("RestrictedPython", "RestrictedPython", "bench-restrictedpython")
MCP = Peer("mcp", "mcp", "bench-mcp")
CEDAR = Peer("cedarpy", "cedarpy", "bench-cedar")
HTTPX = Peer("httpx2", "httpx2", "bench-httpx")
FASTAPI = Peer("FastAPI", "fastapi", "bench-fastapi")

EVERYONE = (MONTY, SMOLAGENTS, RESTRICTEDPYTHON, MCP, CEDAR, HTTPX, FASTAPI)
