"""(8) One writer for a log that has sinks or upkeep: commits, and offers what was committed.

Whatever the segment writes is offered: batches, what the log says of itself, a new key. A step that
writes and its offers are one under a mutex, so that each sink is offered records in their order,
also if the step fails when a part of it was written. Offering never waits; waiting for required
sinks comes after, outside the mutex. What the log has to say about its sinks is noted first
(`note`) and joins the next commit, since it is noticed where nothing may be written. Checkpoints
are made within a commit, and offered after its records: a copy that had a checkpoint of records
that it lacks would look cut.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeVar

from caps.protocol.errors import AuditError
from caps.security.audit.attempt import Attempt
from caps.security.audit.model.sanitize import storable
from caps.security.audit.model.records import AuditEvent, timestamp
from caps.security.audit.log.segment import Entry, Segment
from caps.security.audit.sinks.feed import Feed
from caps.security.audit.sinks.interface import Delivery, SinkMode

T = TypeVar("T")

logger = logging.getLogger(__name__)


class Writer:
    """Serialises all who write one open segment from this process."""

    def __init__(self, segment: Segment) -> None:
        self._segment = segment
        self._mutex = threading.Lock()
        self._feeds: tuple[Feed, ...] = ()
        self._required: tuple[Feed, ...] = ()
        self._notes: deque[Entry] = deque()
        # Made in the step under way. Under the mutex.
        self._records: list[Delivery] = []
        self._pins: list[Delivery] = []

    @property
    def waits(self) -> bool:
        """Whether an append waits for a sink."""
        return bool(self._required)

    def start(self, feeds: Sequence[Feed]) -> None:
        """Begins to offer, with what the opening of the log wrote."""
        self._feeds = tuple(feeds)
        self._required = tuple(f for f in feeds if f.terms.mode is SinkMode.REQUIRED)
        lines = self._segment.opening_lines
        self._take_down(self._segment.head.seq - len(lines) + 1, lines)
        self._offer()
        self._segment.on_written = self._take_down
        for feed in feeds:
            feed.start()

    def commit(
        self, entries: Sequence[Entry], *, wait: bool = True, attempt: Attempt | None = None
    ) -> int:
        """As `Segment.commit`; the number of the last record, for `confirm`."""
        if not self._mutex.acquire(blocking=wait):
            raise BlockingIOError
        try:
            if not self._feeds:
                self._segment.commit(entries, wait=wait, attempt=attempt)
                return 0
            noted = [self._notes.popleft() for _ in range(len(self._notes))]
            try:
                self._segment.commit([*entries, *noted], wait=wait, attempt=attempt)
            except BaseException:
                self._notes.extendleft(reversed(noted))
                raise
            finally:
                self._offer()
            return self._segment.head.seq
        finally:
            self._mutex.release()

    def confirm(self, seq: int) -> None:
        """Returns when every required sink has record `seq`. Raises `AuditError`."""
        if not self._feeds:
            return
        since = time.monotonic()
        try:
            for feed in self._required:
                feed.wait_for(seq, since)
        finally:
            self.flush()

    def note(self, event: AuditEvent) -> None:
        """Keeps an event for the next commit."""
        self._notes.append((storable(event), timestamp()))

    def flush(self) -> None:
        """Writes what was noted; what cannot be written now stays noted."""
        if not self._notes:
            return
        try:
            self.commit([])
        except AuditError as error:
            logger.warning("what became of an audit sink cannot be recorded yet: %s", error)

    def offer_checkpoint(self, seq: int, line: bytes) -> None:
        """Called by the notary, within a commit or a pin, hence under the mutex."""
        if self._feeds:
            self._pins.append(Delivery(seq, line, checkpoint=True))

    def pin(self) -> None:
        """As `Segment.pin`."""
        self.exclusively(self._segment.pin)

    def exclusively(self, act: Callable[[], T]) -> T:
        """Does something with the segment that no commit may come between."""
        with self._mutex:
            try:
                return act()
            finally:
                self._offer()

    def close(self) -> None:
        """Lets sinks finish, signs the head, closes all, also if it raises `AuditError`."""
        try:
            for feed in self._feeds:
                feed.drain()
            self.flush()
            self.pin()
        finally:
            for feed in self._feeds:
                feed.close()
            # A feed that hung in its sink may be writing that the sink is down: its commit ends
            # first, and it finds the log closed the next time.
            self.exclusively(self._segment.close)

    def _take_down(self, first: int, lines: Sequence[bytes]) -> None:
        """What was written just now. Called by the segment, within a step, under the mutex."""
        self._records += [Delivery(seq, line[:-1]) for seq, line in enumerate(lines, first)]

    def _offer(self) -> None:
        records, self._records = self._records, []
        pins, self._pins = self._pins, []
        for feed in self._feeds:
            items = [*records, *pins] if feed.terms.checkpoints else records
            if items:
                feed.offer(items)
