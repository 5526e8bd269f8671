"""The feed of a sink: what happens when it fails, hangs, or comes back."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from caps.protocol.errors import AuditError
from caps.security.audit import AuditLog, SinkFailed, SinkRecovered
from caps.security.audit.files.lock import LogLock
from caps.security.audit.sinks.backfill import CursorFile, SegmentBackfill
from caps.security.audit.sinks.feed import Feed
from caps.security.audit.sinks.interface import Delivery, SinkError, SinkMode, SinkTerms
from support.audit_examples import decision, kinds

pytestmark = pytest.mark.anyio


class _Controlled:
    """A sink that a test makes fail or hang; the real interface."""

    keeps = False

    def __init__(self) -> None:
        self.taken: list[int] = []
        self.failing = False
        self.open = threading.Event()
        self.open.set()
        self.delivering = threading.Event()
        self.checkpoints_open = threading.Event()
        self.checkpoints_open.set()
        self.checkpoints_come = threading.Event()

    def connect(self) -> int | None:
        if self.failing:
            raise SinkError("out of order")
        return None

    def deliver(self, items: Sequence[Delivery]) -> None:
        self.delivering.set()
        assert self.open.wait(30)
        if self.failing:
            raise SinkError("out of order")
        if any(item.checkpoint for item in items):
            self.checkpoints_come.set()
            assert self.checkpoints_open.wait(30)
        self.taken.extend(item.seq for item in items if not item.checkpoint)

    def close(self) -> None:
        return


class _Counted:
    def __init__(self) -> None:
        self.dropped = 0
        self.up: list[bool] = []

    def sink_up(self, sink: str, up: bool) -> None:
        self.up.append(up)

    def sink_dropped(self, sink: str, records: int) -> None:
        self.dropped += records


class TestAFeed:
    @pytest.fixture
    def said(self) -> list[Any]:
        return []

    def _feed(
        self, directory: Path, sink: _Controlled, mode: SinkMode, said: list[Any], **terms: Any
    ) -> tuple[Feed, _Counted]:
        counted = _Counted()
        chosen = {"deadline": 20.0, "queue": 4, "checkpoints": False, **terms}
        feed = Feed(
            sink,
            SinkTerms(name="test", mode=mode, **chosen),
            SegmentBackfill(directory),
            CursorFile(directory, "test"),
            report=said.append,
            flush=lambda: None,
            observer=counted,
            newest=0,
        )
        return feed, counted

    async def test_of_a_best_effort_sink_drops_and_counts(
        self, tmp_path: Path, said: list[Any]
    ) -> None:
        """One record when it begins, one with the number when it recovers."""
        sink = _Controlled()
        sink.open.clear()
        feed, counted = self._feed(tmp_path, sink, SinkMode.BEST_EFFORT, said)
        feed.start()
        feed.offer([Delivery(1, b"{}")])
        assert sink.delivering.wait(20)
        for seq in range(2, 12):
            feed.offer([Delivery(seq, b"{}")])
        assert counted.dropped == 10
        assert [type(event) for event in said] == [SinkFailed]
        sink.open.set()
        _wait_until(lambda: len(said) == 2)
        assert isinstance(said[1], SinkRecovered)
        assert said[1].dropped == 10
        feed.close()
        assert sink.taken == [1]

    async def test_of_a_required_sink_is_late_once(self, tmp_path: Path, said: list[Any]) -> None:
        """The first waits for the deadline, the next fails immediately, and nothing is lost."""
        await _written(tmp_path, 4)
        sink = _Controlled()
        sink.open.clear()
        feed, _ = self._feed(tmp_path, sink, SinkMode.REQUIRED, said, deadline=0.2)
        feed.start()
        for seq in range(1, 5):
            feed.offer([Delivery(seq, b"{}")])
            with pytest.raises(AuditError, match="no answer within 200 ms"):
                feed.wait_for(seq, 0.0 if seq > 1 else time.monotonic())
        sink.open.set()
        _wait_until(lambda: any(isinstance(event, SinkRecovered) for event in said))
        feed.wait_for(4, time.monotonic() + 30)
        assert set(sink.taken) == {1, 2, 3, 4}
        feed.close()

    @pytest.mark.parametrize("mode", SinkMode)
    async def test_of_a_sink_that_keeps_leaves_no_gap(
        self, tmp_path: Path, said: list[Any], mode: SinkMode
    ) -> None:
        """Records of other processes, between two of ours that wait and before a checkpoint."""
        await _written(tmp_path, 6)
        sink = _Controlled()
        sink.keeps = True
        feed, _ = self._feed(tmp_path, sink, mode, said, checkpoints=True)
        feed.offer([Delivery(1, b"{}")])
        feed.start()
        feed.wait_for(1, time.monotonic())
        sink.open.clear()
        feed.offer([Delivery(2, b"{}")])
        feed.offer([Delivery(4, b"{}"), Delivery(5, b"{}", checkpoint=True)])
        sink.open.set()
        feed.drain()
        feed.close()
        assert list(dict.fromkeys(sink.taken)) == [1, 2, 3, 4, 5]

    async def test_of_a_required_sink_that_goes_down_while_it_comes_up_loses_nothing(
        self, tmp_path: Path, said: list[Any]
    ) -> None:
        """A record that comes while it is being sent checkpoints, and is not waited for."""
        await _written(tmp_path, 5, checkpoint_every=1)
        sink = _Controlled()
        sink.checkpoints_open.clear()
        feed, _ = self._feed(tmp_path, sink, SinkMode.REQUIRED, said, checkpoints=True)
        feed.offer([Delivery(seq, b"{}") for seq in range(1, 5)])
        feed.start()
        assert sink.checkpoints_come.wait(20)
        feed.offer([Delivery(5, b"{}")])
        with pytest.raises(AuditError, match="no answer within"):
            feed.wait_for(5, 0.0)
        sink.checkpoints_open.set()
        _wait_until(lambda: any(isinstance(event, SinkRecovered) for event in said))
        feed.drain()
        feed.close()
        assert set(sink.taken) == {1, 2, 3, 4, 5}

    async def test_of_a_sink_that_fails_as_it_comes_up_calls_it_down_last(
        self, tmp_path: Path, said: list[Any]
    ) -> None:
        """The last report is the current state, in the metrics and in the log."""
        controlled = _Controlled()
        controlled.open.clear()
        feed, counted = self._feed(tmp_path, controlled, SinkMode.BEST_EFFORT, said)
        told = counted.sink_up

        def tell_late(sink: str, up: bool) -> None:
            if up and said:  # what does not fit comes just when it is back
                controlled.open.clear()
                filler.start()
                filler.join(0.2)  # it may not get in between, so this is the whole wait
            told(sink, up)

        def fill() -> None:
            for seq in range(20, 32):
                feed.offer([Delivery(seq, b"{}")])

        filler = threading.Thread(target=fill)
        counted.sink_up = tell_late  # type: ignore[method-assign]
        feed.start()
        for seq in range(1, 12):
            feed.offer([Delivery(seq, b"{}")])
        _wait_until(lambda: counted.up[-1:] == [False])
        controlled.open.set()
        _wait_until(lambda: len(said) >= 3)
        filler.join(20)
        assert [type(event) for event in said[:3]] == [SinkFailed, SinkRecovered, SinkFailed]
        assert counted.up[:4] == [True, False, True, False]
        controlled.open.set()
        feed.close()

    async def test_of_a_required_sink_that_never_connects_is_down(
        self, tmp_path: Path, said: list[Any]
    ) -> None:
        """The reason is in the message."""
        sink = _Controlled()
        sink.failing = True
        feed, counted = self._feed(tmp_path, sink, SinkMode.REQUIRED, said)
        feed.start()
        feed.offer([Delivery(1, b"{}")])
        with pytest.raises(AuditError, match="audit sink `test` is down: out of order"):
            feed.wait_for(1, time.monotonic())
        assert counted.up[:1] == [False]
        feed.close()


async def test_that_a_sink_is_back_is_recorded_without_waiting_for_an_append(
    tmp_path: Path,
) -> None:
    """There may be none for hours."""
    async with AuditLog.open(tmp_path) as log:
        sink = _Controlled()
        sink.failing = True
        log._writer.start([_feed_of(log, tmp_path, sink)])
        _wait_until(lambda: "SinkFailed" in kinds(tmp_path))
        sink.failing = False
        _wait_until(lambda: "SinkRecovered" in kinds(tmp_path))


async def test_a_log_is_not_closed_under_a_feed_that_hung(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It begins to write that its sink is down at the moment when closing has given it up."""
    log = AuditLog.open(tmp_path)
    writer, sink = log._writer, _Controlled()
    sink.open.clear()
    sink.failing = True
    feed = _feed_of(log, tmp_path, sink, deadline=0.05)
    locked, closed = threading.Event(), threading.Event()
    take, close = LogLock.take, Feed.close

    def take_and_wait(self: LogLock, fd: int, path: Path, *, wait: bool) -> None:
        take(self, fd, path, wait=wait)
        locked.set()
        closed.wait(0.2)  # nothing may close the log meanwhile, so this is the whole wait

    def close_too_early(self: Feed) -> None:
        close(self)
        monkeypatch.setattr(LogLock, "take", take_and_wait)
        sink.open.set()
        assert locked.wait(20)

    monkeypatch.setattr(Feed, "close", close_too_early)
    monkeypatch.setattr(sink, "connect", lambda: None)
    writer.start([feed])
    assert sink.delivering.wait(20)
    log.close()
    closed.set()
    feed._thread.join(20)
    assert not feed._thread.is_alive()
    assert kinds(tmp_path)[-1] == "SinkFailed"


def _feed_of(log: AuditLog, directory: Path, sink: _Controlled, deadline: float = 20.0) -> Feed:
    """A feed of a best-effort sink that writes its state into the log."""
    return Feed(
        sink,
        SinkTerms(
            name="t", mode=SinkMode.BEST_EFFORT, deadline=deadline, queue=4, checkpoints=False
        ),
        SegmentBackfill(directory),
        CursorFile(directory, "t"),
        report=log._writer.note,
        flush=log._writer.flush,
        observer=None,
        newest=0,
    )


async def _written(directory: Path, records: int, **settings: Any) -> None:
    """A log of `records` records, the first of which is that of its opening."""
    async with AuditLog.open(directory, **settings) as log:
        for number in range(records - 1):
            await log.append(decision(f"r{number}"))


def _wait_until(done: Callable[[], bool]) -> None:
    until = time.monotonic() + 20
    while not done():
        assert time.monotonic() < until
        os.sched_yield()
