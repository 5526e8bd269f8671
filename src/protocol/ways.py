"""The ways in which a request reaches Caps: a closed set, which audit records name."""

from __future__ import annotations

from typing import Final, Literal, get_args

Via = Literal["code", "call", "mcp", "http", "trigger"]
"""From code in a worker; as a single call of the embedding program; through a service."""

WAYS: Final = get_args(Via)
