"""Agents, and the capabilities that they can be given."""

from __future__ import annotations

import datetime as dt
from typing import Any

import msgspec


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """A function as a model sees it."""

    key: str
    name: str
    description: str
    function: str
    """What code calls: `files.read`."""


class Capability(msgspec.Struct, frozen=True, kw_only=True):
    """What can be given to an agent. A list has the first six fields only."""

    id: str
    name: str
    description: str
    status: str
    icon: str | None
    category: str | None
    version: str | None = None
    depends_on: tuple[str, ...] = ()
    system_prompt: str | None = None
    tools: tuple[Tool, ...] = ()
    config_schema: dict[str, Any] | None = None


class Agent(msgspec.Struct, frozen=True, kw_only=True):
    """A stored agent. `etag` is known if it was read by itself, and not in a list."""

    id: str
    name: str
    description: str
    system_prompt: str
    status: str
    capabilities: list[Any] | dict[str, Any]
    """In the form in which they were given."""
    policy: dict[str, Any] | None
    created_by: str
    revision: int
    created_at: dt.datetime
    updated_at: dt.datetime
    etag: str | None = None


class EffectiveAgent(msgspec.Struct, frozen=True, kw_only=True):
    """What a model is given as an agent, under the policies that are in force now."""

    id: str
    system_prompt: str
    tools: tuple[dict[str, Any], ...]
    withheld: tuple[str, ...]
    """The keys of tools that the operator's policy does not allow."""
    policy: dict[str, Any]
    stubs: str
    warnings: tuple[str, ...]
