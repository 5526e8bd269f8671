"""Where a provider runs: in the context of the caller of `run`, outside any task of the host."""

from __future__ import annotations

import asyncio
import contextvars
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from prometheus_client import CollectorRegistry

from caps import AuditLog, CapabilityRegistry, Durability, Runtime
from caps.security.audit import LimitReached, OutcomeRecorded, read_records

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

    @found.capability("who.ends")
    async def ends() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await anyio.sleep_forever()

    @found.capability("who.ends_at_once")
    async def ends_at_once() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()

    @found.capability("who.plainly")
    def plainly() -> str:
        return tenant.get()

    return found


@pytest.mark.parametrize("name", ["promptly", "slowly", "plainly"])
@pytest.mark.parametrize("durability", list(Durability))
async def test_every_call_has_the_context_of_its_own_run(
    tmp_path: Path, durability: Durability, name: str
) -> None:
    """The context is not that of the opener of the session, or of an earlier cell."""
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


CAUGHT = """
async def call(key=None):
    try:
        return await caps.who.ends_at_once.options(idempotency_key=key)()
    except Exception as error:
        return type(error).__name__
[await call(), *await gather(call(), call(), caps.who.promptly()), await call("k")]
"""


@pytest.mark.parametrize("durability", list(Durability))
async def test_a_provider_without_a_task_cannot_cancel_the_hosts(
    tmp_path: Path, durability: Durability
) -> None:
    """The call fails, on record, whether a task serves it or the event loop itself."""
    async with (
        AuditLog.open(tmp_path, durability=durability) as audit,
        Runtime({"allow": ["who.*"]}, registry=registry(), audit=audit) as runtime,
    ):
        with anyio.fail_after(20):
            result = await runtime.run(f"from asyncio import gather\n{CAUGHT}")
            assert (await runtime.run("1")).value == 1
    failed = "ProviderError"
    assert result.value == [failed, failed, failed, "nobody", failed]
    outcomes = [one.event for one in read_records(tmp_path)]
    statuses = [one.status.value for one in outcomes if isinstance(one, OutcomeRecorded)]
    assert sorted(statuses) == ["ok", *["provider_error"] * 4]


async def test_a_provider_that_cancels_its_task_is_not_taken_for_a_limit(tmp_path: Path) -> None:
    """The evidence says what happened, and the host continues."""
    async with (
        AuditLog.open(tmp_path, durability=Durability.OS) as audit,
        Runtime({"allow": ["who.*"]}, registry=registry(), audit=audit) as runtime,
    ):
        with anyio.fail_after(20):
            result = await runtime.run("await caps.who.ends()")
            assert (await runtime.run("1")).value == 1
    assert result.error is not None
    assert result.error.code == "provider_error"
    assert not [one for one in read_records(tmp_path) if isinstance(one.event, LimitReached)]


async def test_records_of_calls_that_are_answered_as_they_arrive_are_counted(
    tmp_path: Path,
) -> None:
    """As all others are."""
    samples = CollectorRegistry()
    async with (
        AuditLog.open(tmp_path, durability=Durability.OS) as audit,
        Runtime({"allow": ["who.*"]}, registry=registry(), audit=audit, metrics=samples) as runtime,
    ):
        await runtime.run(CELL.format(name="promptly"))
    for kind in ("decision_made", "outcome_recorded"):
        assert samples.get_sample_value("caps_audit_records_total", {"kind": kind}) == 3
