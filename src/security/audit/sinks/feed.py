"""(8) The feed of one sink: its queue, its thread, its deadline.

The file log is the source of truth, so a feed may drop records: what a required sink misses is read
from the log again when the sink is back, before the sink counts as up. So every record that an
append acknowledged reaches every required sink at least once. The same holds for a best-effort sink
that keeps records, although no append waits for it: with a gap, its copy would not be a log. What
any other best-effort sink misses is dropped and counted; one record says when that begins, and
another how many were dropped.

    starting ──connected, up to date──► up ──fails, late, full──► down ──connected, up to date──► up

No content stops a sink. One that refuses a batch because of a record in it gets the records one by
one, and the refused one in another form (`forms.py`), so that the next ones are not held up.

A hung sink blocks its own thread only. An append that waits for it gives up at the deadline and
marks the sink as down; no append waits for it again until it is back.
"""

from __future__ import annotations

import enum
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from caps.protocol.errors import AuditError
from caps.security.audit.model.records import AuditEvent, SinkFailed, SinkRecovered
from caps.security.audit.sinks.backfill import CursorFile, SegmentBackfill
from caps.security.audit.sinks.batches import batches, in_order, take_batch
from caps.security.audit.sinks.forms import deliver_in_some_form
from caps.security.audit.sinks.interface import Delivery, Sink, SinkMode, SinkObserver, SinkTerms

_QUEUE_BYTES: Final = 32 * 1024 * 1024
_FIRST_PAUSE: Final = 0.05
_MAX_PAUSE: Final = 5.0
# A sink that was up for less time is flapping: its pauses keep growing.
_STEADY_SECONDS: Final = 10.0

logger = logging.getLogger(__name__)


class _FeedState(enum.Enum):
    STARTING = "starting"
    UP = "up"
    DOWN = "down"


class Feed:
    """Delivers records to one sink. Writers call `offer` and `wait_for`; the rest runs in the
    feed's own thread."""

    def __init__(
        self,
        sink: Sink,
        terms: SinkTerms,
        history: SegmentBackfill,
        cursor: CursorFile,
        *,
        report: Callable[[AuditEvent], None],
        flush: Callable[[], None],
        observer: SinkObserver | None,
        newest: int,
    ) -> None:
        """`newest` is the last record before those that will be offered.

        `report` notes an event about the sink without waiting; `flush` writes the noted events.
        """
        self.terms = terms
        self._sink = sink
        self._history = history
        self._cursor = cursor
        self._report = report
        self._flush = flush
        self._observer = observer
        self._required = terms.mode is SinkMode.REQUIRED
        # A required sink that is down makes appends fail, so a warning would be a repetition.
        self._level = logging.INFO if self._required else logging.WARNING
        # Whether it gets the records that it missed; otherwise they are dropped.
        self._catches_up = self._required or sink.keeps
        # Guards everything below.
        self._changed = threading.Condition()
        self._state = _FeedState.STARTING
        self._down_reason = ""
        self._failed = False
        self._queue: deque[Delivery] = deque()
        self._queue_bytes = 0
        self._busy = False
        self._newest = newest
        self._offers = 0
        self._delivered = newest
        self._missing_from: int | None = None
        self._dropped = 0
        self._resent = 0
        self._closing = False
        # The last record that the sink is known to have. Used by the thread only.
        self._reached = newest
        # Where in the file of checkpoints those begin that the sink may lack. The same.
        self._pins_from = newest
        self._pins_at = 0
        self._first_cut = True
        self._thread = threading.Thread(
            target=self._run, name=f"audit sink {terms.name}", daemon=True
        )

    def start(self) -> None:
        self._thread.start()

    def offer(self, items: Sequence[Delivery]) -> None:
        """Queue the items; never waits. The sink misses what does not fit."""
        with self._changed:
            self._offers += 1
            records = [item for item in items if not item.checkpoint]
            if records:
                self._newest = records[-1].seq
            queues = self._state is _FeedState.UP or not self._catches_up
            if self._state is not _FeedState.DOWN and queues:
                size = self._queue_bytes + sum(len(item.line) for item in items)
                if len(self._queue) + len(items) <= self.terms.queue and size <= _QUEUE_BYTES:
                    self._queue.extend(items)
                    self._queue_bytes = size
                    self._changed.notify_all()
                    return
                limit = f"{self.terms.queue} records"
                if size > _QUEUE_BYTES:
                    limit = f"{_QUEUE_BYTES} bytes"
                self._go_down(f"its queue of {limit} is full")
            self._miss(items)

    def wait_for(self, seq: int, since: float) -> None:
        """Return when the sink has record `seq`.

        Raises `AuditError` if it is down, or `deadline` seconds after `since`.
        """
        with self._changed:
            left = since + self.terms.deadline - time.monotonic()
            self._changed.wait_for(
                lambda: self._delivered >= seq or self._state is _FeedState.DOWN, max(left, 0)
            )
            if self._delivered >= seq:
                return
            if self._state is not _FeedState.DOWN:
                self._go_down(f"no answer within {self.terms.deadline * 1000:.0f} ms")
            raise AuditError(f"audit sink `{self.terms.name}` is down: {self._down_reason}")

    def drain(self) -> None:
        """Wait until all offered items are delivered or dropped, at most for the deadline."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._state is _FeedState.DOWN or not (self._behind() or self._busy),
                self.terms.deadline,
            )
            if self._behind() and self._state is not _FeedState.DOWN:
                self._go_down("it did not take all records before the log was closed")
                if self._required:  # no later append can report it
                    logger.warning("audit sink `%s` lacks the last records", self.terms.name)

    def close(self) -> None:
        """End the thread; one that hangs is left running."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join(self.terms.deadline)

    # Below: under `_changed`.

    def _behind(self) -> bool:
        return bool(self._queue) or (self._catches_up and self._state is not _FeedState.UP)

    def _go_down(self, reason: str) -> None:
        """The sink misses what is queued; appends that wait for it fail."""
        first, self._failed = not self._failed, True
        self._state, self._down_reason = _FeedState.DOWN, reason
        waiting, self._queue = self._queue, deque()
        self._queue_bytes = 0
        self._miss(waiting)
        self._changed.notify_all()
        if first:
            self._report(
                SinkFailed(sink=self.terms.name, mode=self.terms.mode.value, message=reason)
            )
            logger.log(self._level, "audit sink `%s` is down: %s", self.terms.name, reason)
            if self._observer is not None:
                self._observer.sink_up(self.terms.name, False)

    def _miss(self, items: Iterable[Delivery]) -> None:
        numbers = [item.seq for item in items if not item.checkpoint]
        if not numbers:
            return
        if self._catches_up:
            self._missing_from = min(numbers[0], self._missing_from or numbers[0])
        else:
            self._dropped += len(numbers)
            if self._observer is not None:
                self._observer.sink_dropped(self.terms.name, len(numbers))

    # Below: in the feed's own thread.

    def _run(self) -> None:
        pause, came_up = _FIRST_PAUSE, 0.0
        while not self._over():
            try:
                if self._state is not _FeedState.UP:
                    self._come_up()
                    came_up = time.monotonic()
                self._deliver_next()
            except Exception as error:  # noqa: BLE001 - any error of a sink means that it is down
                with self._changed:
                    self._busy = False
                    self._go_down(_reason(error))
                self._flush()
                if time.monotonic() - came_up > _STEADY_SECONDS:
                    pause = _FIRST_PAUSE
                with self._changed:
                    self._changed.wait_for(lambda: self._closing, pause)
                pause = min(2 * pause, _MAX_PAUSE)
        self._sink.close()
        self._cursor.close()

    def _over(self) -> bool:
        with self._changed:
            return self._closing and (self._state is not _FeedState.UP or not self._queue)

    def _deliver_next(self) -> None:
        with self._changed:
            self._changed.wait_for(
                lambda: self._queue or self._closing or self._state is not _FeedState.UP
            )
            batch = take_batch(iter(self._queue))
            for item in batch:
                self._queue.popleft()
                self._queue_bytes -= len(item.line)
            self._busy = bool(batch)
        if batch:
            try:
                self._deliver(batch)
            except BaseException:
                with self._changed:
                    self._miss(batch)
                raise
            self._note(batch)

    def _deliver(self, batch: Sequence[Delivery]) -> None:
        """Deliver the batch; a sink that keeps records also gets those of other processes.

        The others may not feed this sink, and its copy is a chain only without gaps. A checkpoint
        may also pin records of other processes.
        """
        first, last = self._reached + 1, max(item.seq for item in batch)
        own = sum(1 for item in batch if not item.checkpoint and item.seq >= first)
        if not self._sink.keeps:
            self._send(batch)
            return
        if own > last - first:
            self._send(self._with_checkpoints(batch, last))
            return
        for part in batches(self._history.records(first, last)):
            self._send(self._with_checkpoints(part, part[-1].seq))
            self._advance(part[-1].seq)
        if pins := [item for item in batch if item.checkpoint]:
            self._send(pins)

    def _with_checkpoints(self, items: Sequence[Delivery], last: int) -> Sequence[Delivery]:
        """Add the checkpoints of all processes up to record `last` that the sink may lack."""
        if not self.terms.checkpoints:
            return items
        pins, self._pins_at = self._history.checkpoints(self._pins_from, last, self._pins_at)
        return in_order([*items, *pins])

    def _send(self, items: Sequence[Delivery]) -> None:
        deliver_in_some_form(self._sink, items, self._note_cut)

    def _note_cut(self, seq: int, refusal: Exception) -> None:
        # A caller can cause this as often as it likes, so only the first one is a warning.
        level = logging.WARNING if self._first_cut else logging.DEBUG
        self._first_cut = False
        name, why = self.terms.name, _reason(refusal)
        logger.log(level, "audit sink `%s` gets record %d cut: %s", name, seq, why)

    def _note(self, batch: Sequence[Delivery]) -> None:
        numbers = [item.seq for item in batch if not item.checkpoint]
        if numbers:
            self._advance(numbers[-1])
        with self._changed:
            self._busy = False
            if numbers:
                self._delivered = max(self._delivered, numbers[-1])
            self._changed.notify_all()

    def _advance(self, seq: int) -> None:
        self._reached = max(self._reached, seq)
        if self._required and not self._sink.keeps:
            self._cursor.write(seq)

    def _come_up(self) -> None:
        """Connect, and bring the sink up to date if it must have all records. May raise."""
        self._sink.close()
        has = self._sink.connect()
        if self._catches_up:
            self._catch_up(has)
        else:
            self._go_up(None)
        self._flush()

    def _catch_up(self, has: int | None) -> None:
        """Deliver from the log what the sink lacks, until nothing new was offered meanwhile."""
        self._reached = self._first_missing(has) - 1
        # After a crash the sink may have its last record but not the checkpoint of it.
        self._pins_from, self._pins_at = self._reached, 0
        while True:
            with self._changed:
                last, offers = max(self._newest, self._reached), self._offers
            if self._reached < last:
                self._resend(self._history.records(self._reached + 1, last))
            if pins := self._with_checkpoints([], last):
                self._send(pins)
            with self._changed:
                if offers == self._offers:
                    self._go_up(last)
                    return

    def _go_up(self, last: int | None) -> None:
        """Change the state in one step: from now on offered items are queued, not missed.

        From now on the sink may also go down at any time, so no later code may mark it as up.
        """
        with self._changed:
            self._state, self._missing_from = _FeedState.UP, None
            if last is not None:
                self._delivered = max(self._delivered, last)
            self._changed.notify_all()
            # It may also have gone down while it was being brought up to date.
            was_down, self._failed = self._failed, False
            dropped, self._dropped = self._dropped, 0
            resent, self._resent = self._resent, 0
            if self._observer is not None:
                self._observer.sink_up(self.terms.name, True)
            if was_down:
                logger.log(self._level, "audit sink `%s` is up again", self.terms.name)
                self._report(
                    SinkRecovered(
                        sink=self.terms.name,
                        mode=self.terms.mode.value,
                        dropped=dropped,
                        resent=resent,
                    )
                )

    def _first_missing(self, has: int | None) -> int:
        if has is not None:
            return has + 1
        has = self._cursor.read()
        with self._changed:
            if has is None:
                # It never had a record, and cannot report that: it starts with new records.
                has = self._delivered
            # Another process that feeds the same sink may have moved the cursor past ours.
            return has + 1 if self._missing_from is None else min(has + 1, self._missing_from)

    def _resend(self, items: Iterable[Delivery]) -> None:
        for batch in batches(items):
            self._send(self._with_checkpoints(batch, batch[-1].seq))
            self._advance(batch[-1].seq)
            with self._changed:
                self._resent += len(batch)
                if self._closing:
                    raise AuditError("the log was closed before the sink was up to date")


def _reason(error: Exception) -> str:
    if isinstance(error, AuditError):
        return error.message
    if isinstance(error, TimeoutError):
        return "it does not answer"
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return type(error).__name__
