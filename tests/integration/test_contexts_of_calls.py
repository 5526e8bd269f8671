"""A provider sees the context variables of whoever runs the code, on every path of a call."""

from __future__ import annotations

import contextvars
from pathlib import Path

import anyio.lowlevel
import pytest

from caps import AuditLog, CapabilityRegistry, Durability, Runtime

pytestmark = pytest.mark.anyio

tenant = contextvars.ContextVar("tenant", default="nobody")
CELL = "[await caps.who.{name}() for _ in range(3)]"


def registry() -> CapabilityRegistry:
    found = CapabilityRegistry()
    found.domain("who", scope=None)

    @found.capability("who.promptly")
    async def promptly() -> str:
        return tenant.get()

    @found.capability("who.slowly")
    async def slowly() -> str:
        await anyio.lowlevel.checkpoint()
        return tenant.get()

    @found.capability("who.plainly")
    def plainly() -> str:
        return tenant.get()

    return found


@pytest.mark.parametrize("name", ["promptly", "slowly", "plainly"])
@pytest.mark.parametrize("durability", list(Durability))
async def test_every_call_has_the_context_of_its_own_run(
    tmp_path: Path, durability: Durability, name: str
) -> None:
    """Whoever opened the session, or ran the cell before."""
    async with (
        AuditLog.open(tmp_path, durability=durability) as audit,
        Runtime({"allow": ["who.*"]}, registry=registry(), audit=audit) as runtime,
    ):
        tenant.set("alice")
        async with runtime.session() as session:
            for other in ("alice", "bob", "carol"):
                tenant.set(other)
                assert (await session.run(CELL.format(name=name))).value == [other] * 3
                assert (await runtime.run(CELL.format(name=name))).value == [other] * 3
