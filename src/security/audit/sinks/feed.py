"""(8) The feed of one sink: its queue, its thread, its deadline.

The file log is the source of truth, so a feed may forget: what a required sink misses is read from
the log again when the sink is back, before it counts as up. So every record that an append
acknowledged is in every required sink, sooner or twice, never not at all. The same holds, without
anybody waiting for it, for a best-effort sink that keeps records: with a gap what it keeps would be
no log. What any other best-effort sink misses is dropped and counted; a record says when that
begins, and another how many it were.

    starting ──connected, up to date──► up ──fails, late, full──► down ──connected, up to date──► up

A hung sink hangs its own thread. Whoever waits for it gives up at the deadline, takes the sink for
down, and nobody waits for it again until it is back.
"""

from __future__ import annotations

import enum
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Final

from caps.protocol.errors import AuditError
from caps.security.audit.model.records import AuditEvent, SinkFailed, SinkRecovered
from caps.security.audit.sinks.backfill import CursorFile, History
from caps.security.audit.sinks.interface import Delivery, Sink, SinkMode, SinkObserver, SinkTerms

_BATCH: Final = 256
_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 5.0
# One that was up for less is flapping: the pauses go on growing.
_STEADY_SECONDS: Final = 10.0

logger = logging.getLogger(__name__)


class _State(enum.Enum):
    STARTING = "starting"
    UP = "up"
    DOWN = "down"


class Feed:
    """Brings records to one sink. `offer` and `wait_for` are called by writers, the rest runs in
    the feed's own thread."""

    def __init__(
        self,
        sink: Sink,
        terms: SinkTerms,
        history: History,
        cursor: CursorFile,
        *,
        report: Callable[[AuditEvent], None],
        flush: Callable[[], None],
        observer: SinkObserver | None,
        newest: int,
    ) -> None:
        """`newest` is the last record before those that will be offered.

        `report` notes what the log is to say of the sink, without waiting; `flush` writes it.
        """
        self.terms = terms
        self._sink = sink
        self._history = history
        self._cursor = cursor
        self._report = report
        self._flush = flush
        self._observer = observer
        self._required = terms.mode is SinkMode.REQUIRED
        # Whoever appends is told of a required sink by an error, and need not be told twice.
        self._level = logging.INFO if self._required else logging.WARNING
        # Whether it gets what it missed; else that is dropped.
        self._catches_up = self._required or sink.keeps
        # Guards everything below.
        self._changed = threading.Condition()
        self._state = _State.STARTING
        self._why = ""
        self._failed = False
        self._queue: deque[Delivery] = deque()
        self._busy = False
        self._newest = newest
        self._offers = 0
        self._delivered = newest
        self._missing_from: int | None = None
        self._dropped = 0
        self._resent = 0
        self._closing = False
        # Only the thread's: the last record that the sink is known to have.
        self._reached = newest
        self._thread = threading.Thread(
            target=self._run, name=f"audit sink {terms.name}", daemon=True
        )

    def start(self) -> None:
        self._thread.start()

    def offer(self, items: Sequence[Delivery]) -> None:
        """Never waits; what does not fit is missed."""
        with self._changed:
            self._offers += 1
            records = [item for item in items if not item.checkpoint]
            if records:
                self._newest = records[-1].seq
            waits = self._state is _State.UP or not self._catches_up
            if self._state is not _State.DOWN and waits:
                if len(self._queue) + len(items) <= self.terms.queue:
                    self._queue.extend(items)
                    self._changed.notify_all()
                    return
                self._go_down(f"its queue of {self.terms.queue} records is full")
            self._miss(items)

    def wait_for(self, seq: int, since: float) -> None:
        """Returns when the sink has record `seq`.

        Raises `AuditError` if it is down, or `deadline` seconds after `since`.
        """
        with self._changed:
            left = since + self.terms.deadline - time.monotonic()
            self._changed.wait_for(
                lambda: self._delivered >= seq or self._state is _State.DOWN, max(left, 0)
            )
            if self._delivered >= seq:
                return
            if self._state is not _State.DOWN:
                self._go_down(f"no answer within {self.terms.deadline * 1000:.0f} ms")
            raise AuditError(f"audit sink `{self.terms.name}` is down: {self._why}")

    def drain(self) -> None:
        """Waits until all that was offered is delivered or dropped, not beyond the deadline."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._state is _State.DOWN or not (self._behind() or self._busy),
                self.terms.deadline,
            )
            if self._behind() and self._state is not _State.DOWN:
                self._go_down("it did not take all records before the log was closed")
                if self._required:  # no append is left that could tell
                    logger.warning("audit sink `%s` lacks the last records", self.terms.name)

    def close(self) -> None:
        """Ends the thread; one that hangs is left behind."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join(self.terms.deadline)

    # Below: under `_changed`.

    def _behind(self) -> bool:
        return bool(self._queue) or (self._catches_up and self._state is not _State.UP)

    def _go_down(self, why: str) -> None:
        """What waits is missed, and whoever waits is told."""
        first, self._failed = not self._failed, True
        self._state, self._why = _State.DOWN, why
        waiting, self._queue = self._queue, deque()
        self._miss(waiting)
        self._changed.notify_all()
        if first:
            self._report(SinkFailed(sink=self.terms.name, mode=self.terms.mode.value, message=why))
            logger.log(self._level, "audit sink `%s` is down: %s", self.terms.name, why)
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
                if self._state is not _State.UP:
                    self._come_up()
                    came_up = time.monotonic()
                self._deliver_next()
            except Exception as error:  # noqa: BLE001 - whatever a sink raises, it is down
                with self._changed:
                    self._busy = False
                    self._go_down(_reason(error))
                self._flush()
                if time.monotonic() - came_up > _STEADY_SECONDS:
                    pause = _FIRST_PAUSE
                with self._changed:
                    self._changed.wait_for(lambda: self._closing, pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
        self._sink.close()
        self._cursor.close()

    def _over(self) -> bool:
        with self._changed:
            return self._closing and (self._state is not _State.UP or not self._queue)

    def _deliver_next(self) -> None:
        with self._changed:
            self._changed.wait_for(
                lambda: self._queue or self._closing or self._state is not _State.UP
            )
            batch = list(islice(self._queue, _BATCH))
            for _ in batch:
                self._queue.popleft()
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
        """The batch, and to a sink that keeps also the records of other processes up to its end.

        They may not feed this sink, and what it keeps is a chain only without gaps. A checkpoint
        may pin records that are none of ours.
        """
        first, last = self._reached + 1, max(item.seq for item in batch)
        own = sum(1 for item in batch if not item.checkpoint and item.seq >= first)
        if not self._sink.keeps or own > last - first:
            self._sink.deliver(batch)
            return
        source = self._history.records(first, last)
        while part := list(islice(source, _BATCH)):
            self._sink.deliver(part)
            self._advance(part[-1].seq)
        if pins := [item for item in batch if item.checkpoint]:
            self._sink.deliver(pins)

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
        """Connects, and brings up to date what is to have all records. Raises if that fails."""
        self._sink.close()
        has = self._sink.connect()
        if self._catches_up:
            self._catch_up(has)
        else:
            self._go_up(None)
        self._flush()

    def _catch_up(self, has: int | None) -> None:
        """Reads from the log what the sink lacks, until nothing new came meanwhile."""
        self._reached = self._first_missing(has) - 1
        while True:
            with self._changed:
                last, offers = max(self._newest, self._reached), self._offers
            # A crash may have come between the last record that it has and the checkpoint of it.
            pinned_from = self._reached
            if self._reached < last:
                self._resend(self._history.records(self._reached + 1, last))
            if self.terms.checkpoints:
                self._sink.deliver(self._history.checkpoints(pinned_from, last))
            with self._changed:
                if offers == self._offers:
                    self._go_up(last)
                    return

    def _go_up(self, last: int | None) -> None:
        """In one step: what is offered from here on is queued, no longer missed.

        From here on it may go down again at any time, too: nothing after this may call it up.
        """
        with self._changed:
            self._state, self._missing_from = _State.UP, None
            if last is not None:
                self._delivered = max(self._delivered, last)
            self._changed.notify_all()
            # It may have gone down while it was being brought up to date, too.
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
                # It never had any, and cannot say so: it begins with what is new.
                has = self._delivered
            # Another process that feeds the same sink may have moved the cursor past ours.
            return has + 1 if self._missing_from is None else min(has + 1, self._missing_from)

    def _resend(self, items: Iterable[Delivery]) -> None:
        source = iter(items)
        while batch := list(islice(source, _BATCH)):
            self._sink.deliver(batch)
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
