"""An interrupt of the host (a second Ctrl-C) may come anywhere: every effect has one outcome."""

from __future__ import annotations

import fcntl
import functools
import gc
import os
import sys
from collections import Counter
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, cast

import anyio
import anyio.to_thread
import pytest
from prometheus_client import CollectorRegistry

from caps import MemoryAuditLog
from caps.capabilities.broker.broker import ExecutionBroker
from caps.capabilities.broker.invoke import outside_task
from caps.capabilities.telemetry import Metrics
from caps.capabilities.telemetry.observers import MeteredAudit
from caps.protocol.messages import CapabilityRequestMessage
from caps.security.audit import (
    AuditLog,
    Durability,
    OutcomeRecorded,
    VerifyStatus,
    read_records,
    verify_log,
)
from caps.worker.host.supervisor.interface import RequestBatch
from support.audit_examples import decision, request_ids, segment_of
from support.broker_setup import BrokerSetup, make_request

pytestmark = pytest.mark.anyio


class Interrupt:
    """Comes at one of the places where Python checks for signals: calls, and returns to Python."""

    def __init__(self, after: int) -> None:
        self.left = after

    def __call__(self, _frame: Any, event: str, arg: Any) -> None:
        # One that comes just as a lock is taken leaves it taken, which is another matter.
        if event == "call" or (event == "c_return" and arg.__name__ != "acquire"):
            self.left -= 1
            if self.left < 0:
                sys.setprofile(None)
                raise KeyboardInterrupt

    def during(self, act: Callable[[], bool]) -> bool:
        """What `act` returns; False if it was interrupted. Whether it was is said by `left`."""
        before = sys.getprofile()
        try:
            sys.setprofile(self)
            return act()
        except KeyboardInterrupt:
            return False
        finally:
            sys.setprofile(before)


# A provider that was not begun was called, in Python's sense; a generator was left half-way.
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("words", [("a", "b"), ("a",), ("bad",)])
async def test_wherever_an_interrupt_comes_every_effect_has_one_outcome(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    """None is recorded twice, and none is lost, though the log was being written.

    A call that came alone takes a way of its own."""
    gc.collect()  # what other tests left is not to be reported while an interrupt is due
    log = AuditLog.open(tmp_path, durability=Durability.OS, checkpoint_every=100_000)
    observed = MeteredAudit(log, Metrics(CollectorRegistry()))  # as a runtime has it
    setup = BrokerSetup(cast("MemoryAuditLog", observed))
    begun: list[str] = []
    interrupts, came, finished = 0, True, False
    while came or not finished:
        requests = [make_request(word) for word in words]
        kept: list[RequestBatch] = []
        setup.called.clear()
        interrupt = Interrupt(interrupts)
        if len(requests) == 1:
            one = functools.partial(_answer_one, setup.calls, requests[0], kept)
            finished = interrupt.during(functools.partial(outside_task, one))
        else:
            kept.append(setup.calls.begin_batch(requests))
            finished = interrupt.during(kept[0].step_sync)  # or it gave way, on a busy machine
        begun += [request.request_id for request in requests[: len(setup.called)]]
        came = interrupt.left < 0  # perhaps where it cannot be seen, while the collector runs
        interrupts += came
        for batch in kept[-1:]:
            await batch.abandon()
            batch.close()
    await log.aclose()
    events = [one.event for one in read_records(tmp_path)]
    outcomes = Counter(one.request_id for one in events if isinstance(one, OutcomeRecorded))
    assert interrupts > 100
    assert begun
    assert set(outcomes.values()) == {1}
    assert set(begun) <= set(outcomes)
    assert verify_log(tmp_path).status is VerifyStatus.OK
    del kept, observed, setup
    gc.collect()  # what is left is this test's, and is not to be reported in a later one


def _answer_one(
    calls: ExecutionBroker, request: CapabilityRequestMessage, kept: list[RequestBatch]
) -> bool:
    if calls.answer_one(request, kept.append) is not None:
        return True
    return kept[-1].step_sync()


class InterruptedWrite:
    """The system's `pwrite`, and an interrupt before or after it does its work."""

    def __init__(self, *, written: bool) -> None:
        self._written = written
        self._real = os.pwrite

    def __call__(self, *args: Any) -> int:
        if self._written:
            self._real(*args)
        raise KeyboardInterrupt


@pytest.mark.parametrize("written", [False, True])
async def test_a_log_knows_whether_an_interrupted_write_went_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: bool
) -> None:
    """What is there is not written again; what is not can be."""
    events = [decision("interrupted")]
    async with AuditLog.open(tmp_path, durability=Durability.OS) as log:
        assert log.append_now([decision("before")])
        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
            patched.setattr(os, "pwrite", InterruptedWrite(written=written))
            log.append_now(events)
        assert log.has_recorded(events) is written
        if not log.has_recorded(events):
            await log.append_all(events)
        assert log.append_now([decision("after")])
    assert request_ids(tmp_path) == ["before", "interrupted", "after"]
    assert verify_log(tmp_path).status is VerifyStatus.OK


@pytest.mark.parametrize("written", [False, True])
async def test_what_another_thread_writes_meanwhile_is_not_taken_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: bool
) -> None:
    """It waited for the file that the interrupt released; a lost record does not count as safe."""
    events = [decision("interrupted")]
    async with AuditLog.open(tmp_path, durability=Durability.OS) as log:
        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
            patched.setattr(os, "pwrite", InterruptedWrite(written=written))
            log.append_now(events)
        await anyio.to_thread.run_sync(log.rotate_key)
        assert log.has_recorded(events) is written
        assert request_ids(tmp_path) == ["interrupted"] * written


async def test_where_a_log_cannot_be_read_an_interrupted_write_did_not_go_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is given once more rather than not at all."""
    events = [decision("interrupted")]
    log = AuditLog.open(tmp_path, durability=Durability.OS)
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(os, "pwrite", InterruptedWrite(written=True))
        log.append_now(events)
    assert log.has_recorded(events)
    await log.aclose()
    assert not log.has_recorded(events)


async def test_what_was_not_handed_in_was_not_taken(tmp_path: Path) -> None:
    """An equal event is not the same event, and what had to wait is not recorded either."""
    async with AuditLog.open(tmp_path, durability=Durability.OS) as log:
        assert not log.has_recorded([])
        assert log.append_now([decision("a")])
        assert not log.has_recorded([decision("a")])
    async with AuditLog.open(tmp_path, durability=Durability.SYNC) as log:
        events = [decision("b")]
        assert not log.append_now(events)
        assert not log.has_recorded(events)


async def test_what_found_the_log_held_was_not_taken(tmp_path: Path) -> None:
    """Though something else was written before, by the same way."""
    events = [decision("b")]
    async with AuditLog.open(tmp_path, durability=Durability.OS) as log:
        assert log.append_now([decision("a")])
        with segment_of(tmp_path).open("rb") as other:
            fcntl.flock(other, fcntl.LOCK_EX)
            assert not log.append_now(events)
        assert not log.has_recorded(events)


async def test_an_append_that_was_interrupted_keeps_nobody_waiting(tmp_path: Path) -> None:
    """Wherever it was: the next one is written, and so are the records appended before."""
    log = AuditLog.open(tmp_path)
    number, came = 0, True
    with anyio.fail_after(30):
        while came:
            interrupt, append = Interrupt(number), log.append(decision(f"i{number}"))
            interrupt.during(functools.partial(_begin, append))
            append.close()
            await log.append(decision(f"n{number}"))
            came, number = interrupt.left < 0, number + 1
        await log.aclose()
    written = request_ids(tmp_path)
    assert number > 10
    assert [name for name in written if name[0] == "n"] == [f"n{n}" for n in range(number)]
    assert written.count(f"i{number - 1}") == 1
    assert len(set(written)) == len(written)


def _begin(append: Coroutine[Any, Any, None]) -> bool:
    append.send(None)
    return True
