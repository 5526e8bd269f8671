"""A log that outlives its event loop: what one loop left behind does not disturb the next."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from caps.security.audit import AuditLog, Durability, VerifyStatus, verify_log
from support.audit_examples import decision, request_ids

BACKENDS = ["asyncio", "trio"]


class HeldSyncs:
    """Holds real syncs from the first on, until released."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.release = threading.Event()
        self._real = os.fdatasync

    def __call__(self, fd: int) -> None:
        self.begun.set()
        assert self.release.wait(timeout=30)
        self._real(fd)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[HeldSyncs]:
    syncs = HeldSyncs()
    monkeypatch.setattr(os, "fdatasync", syncs)
    yield syncs
    syncs.release.set()


@pytest.fixture
def log(tmp_path: Path) -> AuditLog:
    """Opened before any sync is held."""
    return AuditLog.open(tmp_path)


def leave_two(log: AuditLog, held: HeldSyncs, backend: str) -> None:
    """A loop that ends while `first` is being written, and `second` gathers behind it."""

    async def hand_in() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(log.append, decision("first"))
            assert await anyio.to_thread.run_sync(held.begun.wait, 30)
            tasks.start_soon(log.append, decision("second"))
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()

    anyio.run(hand_in, backend=backend)


def leave_one(log: AuditLog) -> None:
    """A loop that ends before it passed on the records that were appended in it."""
    loop = asyncio.new_event_loop()

    async def hand_in() -> None:
        waiting = log.append(decision("first"))
        waiting.send(None)
        waiting.close()
        loop.stop()

    task = loop.create_task(hand_in())
    loop.run_forever()
    assert task.done()
    loop.close()


@pytest.mark.parametrize("after", BACKENDS)
@pytest.mark.parametrize("before", BACKENDS)
def test_what_gathered_in_a_loop_that_is_over_is_written_before_what_the_next_appends(
    tmp_path: Path, log: AuditLog, held: HeldSyncs, before: str, after: str
) -> None:
    """Once each, in the order in which they were appended."""
    leave_two(log, held, before)

    async def go_on() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(log.append, decision("third"))
            await anyio.wait_all_tasks_blocked()
            held.release.set()
        await log.append(decision("fourth"))
        await log.aclose()

    anyio.run(go_on, backend=after)
    assert request_ids(tmp_path) == ["first", "second", "third", "fourth"]
    assert verify_log(tmp_path).status is VerifyStatus.OK


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_gathered_is_written_though_no_loop_follows(
    tmp_path: Path, log: AuditLog, held: HeldSyncs, backend: str
) -> None:
    """The thread that writes them continues, and no other loop need ask for it."""
    leave_two(log, held, backend)
    held.release.set()
    log.close()
    assert request_ids(tmp_path) == ["first", "second"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_next_loop_can_close_the_log_at_once(
    tmp_path: Path, log: AuditLog, held: HeldSyncs, backend: str
) -> None:
    """It waits for what the last one left, of which it gets no notification."""
    leave_two(log, held, backend)

    async def close() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(log.aclose)
            await anyio.wait_all_tasks_blocked()
            held.release.set()

    anyio.run(close, backend=backend)
    assert request_ids(tmp_path) == ["first", "second"]
    assert verify_log(tmp_path).status is VerifyStatus.OK


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_loop_that_was_stopped_within_a_step_leaves_its_batch_to_the_next(
    tmp_path: Path, log: AuditLog, backend: str
) -> None:
    """No thread had been asked to write it yet."""
    leave_one(log)

    async def go_on() -> None:
        await log.append(decision("second"))
        await log.aclose()

    anyio.run(go_on, backend=backend)
    assert request_ids(tmp_path) == ["first", "second"]
    assert verify_log(tmp_path).status is VerifyStatus.OK


def test_a_loop_that_was_stopped_within_a_step_leaves_its_batch_to_the_end(
    tmp_path: Path, log: AuditLog
) -> None:
    """Closing writes it."""
    leave_one(log)
    log.close()
    assert request_ids(tmp_path) == ["first"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_next_loop_does_again_without_the_thread_where_it_can(
    tmp_path: Path, backend: str
) -> None:
    """What was left behind is waited for once, not by every append from then on."""
    log = AuditLog.open(tmp_path, durability=Durability.OS, checkpoint_every=2)
    leave_one(log)  # a checkpoint is due with it, so that it is left to the thread

    async def go_on() -> None:
        assert not log.append_now([decision("too early")])
        await log.append(decision("second"))
        await log.append(decision("third"))  # with another checkpoint
        assert log.append_now([decision("fourth")])
        await log.aclose()

    anyio.run(go_on, backend=backend)
    assert request_ids(tmp_path) == ["first", "second", "third", "fourth"]
