"""Runtimes that grant one capability or many, to measure the cost for an execution."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.sides.caps import LIMITS
from caps import AuditLog, CapabilityRegistry, CapabilitySpec, Durability, Runtime

_DOMAIN_SIZE = 100
_SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "where to look"},
        "limit": {"type": "integer", "minimum": 1, "maximum": 1000},
    },
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Granted:
    """A runtime and its audit log."""

    runtime: Runtime
    audit: AuditLog


@asynccontextmanager
async def granting(how_many: int) -> AsyncIterator[Granted]:
    """A runtime whose policy grants `how_many` capabilities; `caps.d0.f0` is one of them."""
    registry = CapabilityRegistry()
    for number in range(how_many):
        domain, function = divmod(number, _DOMAIN_SIZE)
        registry.register(
            CapabilitySpec(
                name=f"d{domain}.f{function}",
                schema_in=_SCHEMA,
                title=f"Function {function}",
                description="Look something up, and say what was found.",
            ),
            _provide,
        )
    domains = sorted({spec.domain for spec in registry})
    policy = {"id": "bench", "allow": [f"{name}.*" for name in domains], "limits": LIMITS}
    with tempfile.TemporaryDirectory() as directory:
        log = AuditLog.open(Path(directory, "audit"), durability=Durability.OS)
        async with log as audit, Runtime(policy, registry=registry, audit=audit) as runtime:
            yield Granted(runtime, audit)


async def _provide(*_: object) -> None:
    """Does nothing, so that only the path of the call is measured."""
