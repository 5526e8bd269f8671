"""The feed of a sink: what happens when it fails, hangs, or comes back."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from audit_examples import decision
from caps.protocol.errors import AuditError
from caps.security.audit import AuditLog, SinkFailed, SinkRecovered
from caps.security.audit.sinks.feed import Feed
from caps.security.audit.sinks.history import CursorFile, History
from caps.security.audit.sinks.sink import Delivery, SinkError, SinkMode, SinkTerms

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

    def connect(self) -> int | None:
        if self.failing:
            raise SinkError("out of order")
        return None

    def deliver(self, items: Sequence[Delivery]) -> None:
        self.delivering.set()
        assert self.open.wait(30)
        if self.failing:
            raise SinkError("out of order")
        self.taken.extend(item.seq for item in items)

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
            History(directory),
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
        """The first waits for the deadline, the next fails at once, and nothing is lost."""
        async with AuditLog.open(tmp_path) as log:
            for number in range(3):
                await log.append(decision(f"r{number}"))
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

    async def test_of_a_required_sink_that_never_connects_is_down(
        self, tmp_path: Path, said: list[Any]
    ) -> None:
        """The reason is told."""
        sink = _Controlled()
        sink.failing = True
        feed, counted = self._feed(tmp_path, sink, SinkMode.REQUIRED, said)
        feed.start()
        feed.offer([Delivery(1, b"{}")])
        with pytest.raises(AuditError, match="audit sink `test` is down: out of order"):
            feed.wait_for(1, time.monotonic())
        assert counted.up[:1] == [False]
        feed.close()


def _wait_until(done: Callable[[], bool]) -> None:
    until = time.monotonic() + 20
    while not done():
        assert time.monotonic() < until
        os.sched_yield()
