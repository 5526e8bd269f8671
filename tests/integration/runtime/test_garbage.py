"""What an execution leaves in the host: nothing that only the garbage collector can free."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from caps import AuditLog, Durability, Runtime

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def found() -> Iterator[list[Any]]:
    """What the collector finds once the test has set `DEBUG_SAVEALL`. It runs only when called."""
    gc.collect()
    gc.disable()
    yield gc.garbage
    gc.set_debug(0)
    gc.garbage.clear()
    gc.enable()


def ours(objects: list[Any]) -> set[str]:
    names = {f"{type(one).__module__}.{type(one).__qualname__}" for one in objects}
    return {name for name in names if name.startswith("caps.")}


async def until_reaped(runtime: Runtime) -> None:
    """Wait until nothing is left of the workers whose executions have ended."""
    assert runtime._opened is not None
    reaping = runtime._opened.pool._reaping
    with anyio.fail_after(20):
        while reaping._used or reaping._dying:
            await anyio.lowlevel.checkpoint()


async def test_usual_executions_leave_no_cycles_of_objects(
    tmp_path: Path, found: list[Any]
) -> None:
    """Under sustained load the collector would run after every few of them."""
    async with (
        AuditLog.open(tmp_path / "audit", durability=Durability.OS) as audit,
        Runtime({}, audit=audit) as runtime,
        runtime.session() as session,
    ):
        for _ in range(3):  # what is made once
            (await session.run("1 + 1")).unwrap()
            (await runtime.run("1 + 1")).unwrap()
        await until_reaped(runtime)
        gc.collect()
        gc.set_debug(gc.DEBUG_SAVEALL)
        for _ in range(3):
            (await session.run("1 + 1")).unwrap()
            (await runtime.run("1 + 1")).unwrap()
        await until_reaped(runtime)
        gc.collect()
        assert ours(found) == set()
