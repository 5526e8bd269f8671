"""Appending without giving up the event loop: where nothing has to be waited for, only there."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from caps.protocol.errors import AuditError
from caps.security.audit import AuditLog, Durability, MemoryAuditLog, VerifyStatus, verify_log
from caps.security.audit.sinks.urls import parse_sink
from support.audit_examples import decision, request_ids, segment_of

pytestmark = pytest.mark.anyio


async def test_what_is_appended_in_one_step_is_on_disk(tmp_path: Path) -> None:
    """In its order, with what is appended otherwise."""
    async with AuditLog.open(tmp_path, durability=Durability.OS) as log:
        assert log.append_now([decision("a"), decision("b")])
        await log.append(decision("c"))
        assert log.append_now([decision("d")])
        assert request_ids(tmp_path) == ["a", "b", "c", "d"]
    assert verify_log(tmp_path).status is VerifyStatus.OK


async def test_what_is_synced_waits(tmp_path: Path) -> None:
    """Nothing is done, and the caller gets False."""
    async with AuditLog.open(tmp_path, durability=Durability.SYNC) as log:
        assert not log.append_now([decision("a")])
        assert request_ids(tmp_path) == []


async def test_a_checkpoint_that_is_due_waits(tmp_path: Path) -> None:
    """It is made, and synced, with the record that it is due for."""
    async with AuditLog.open(tmp_path, durability=Durability.OS, checkpoint_every=3) as log:
        taken = [log.append_now([decision(name)]) for name in "abc"]
        assert not all(taken)
        left = "abc"[taken.index(False)]
        await log.append(decision(left))
        assert left in request_ids(tmp_path)


async def test_a_log_that_another_process_writes_waits(tmp_path: Path) -> None:
    """The lock is not waited for on the event loop."""
    async with AuditLog.open(tmp_path, durability=Durability.OS) as log:
        other = os.open(segment_of(tmp_path), os.O_RDWR)
        try:
            fcntl.flock(other, fcntl.LOCK_EX)
            assert not log.append_now([decision("a")])
        finally:
            os.close(other)
        assert log.append_now([decision("b")])
        assert request_ids(tmp_path) == ["b"]


async def test_a_required_sink_waits(tmp_path: Path) -> None:
    """It is asked whether it has the record, which takes a while."""
    sink = parse_sink(f"file://{tmp_path}/copy?mode=required")
    async with AuditLog.open(tmp_path / "log", durability=Durability.OS, sinks=[sink]) as log:
        assert not log.append_now([decision("a")])


async def test_a_closed_log_takes_nothing_in_one_step_either(tmp_path: Path) -> None:
    """It cannot record any evidence."""
    log = AuditLog.open(tmp_path, durability=Durability.OS)
    await log.aclose()
    with pytest.raises(AuditError, match="closed"):
        log.append_now([decision("a")])


def test_a_sink_that_cannot_say_so_always_waits() -> None:
    """One that knows only `append` is never asked for more."""
    assert not MemoryAuditLog().append_now([decision("a")])
