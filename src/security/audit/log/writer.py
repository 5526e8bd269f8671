"""(8) The one writer of a log: commits, and then offers the committed records to the sinks.

Everything that the segment writes is offered: batches, records of the log itself, a new key. A
write and its offers happen together under a mutex, so that each sink gets records in their order,
also if the write fails after a part of it. Offering never waits; waiting for required sinks comes
afterwards, outside the mutex. Events about the sinks are noted first (`note`) and written with the
next commit, since they occur where nothing may be written. Checkpoints are made within a commit,
and each is offered after the record that it signs: a copy with a checkpoint of a record that it
lacks would look cut.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeVar

from caps.protocol.errors import AuditError
from caps.security.audit.log.batch import WriteAttempt
from caps.security.audit.log.interface import UndeliveredError
from caps.security.audit.log.segment import Segment
from caps.security.audit.model.chain import EncodedRecord, Entry
from caps.security.audit.model.records import AuditEvent, timestamp
from caps.security.audit.model.sanitize import encode_event
from caps.security.audit.sinks.batches import in_order
from caps.security.audit.sinks.feed import Feed
from caps.security.audit.sinks.interface import Delivery, SinkMode

T = TypeVar("T")

logger = logging.getLogger(__name__)


class Writer:
    """Serialises the writes of this process to one open segment."""

    def __init__(self, segment: Segment) -> None:
        self._segment = segment
        self._mutex = threading.Lock()
        self._feeds: tuple[Feed, ...] = ()
        self._required: tuple[Feed, ...] = ()
        self._notes: deque[Entry] = deque()
        # Written in the current step. Under the mutex.
        self._records: list[Delivery] = []
        self._pins: list[Delivery] = []

    @property
    def waits(self) -> bool:
        """Whether an append waits for a sink."""
        return bool(self._required)

    def start(self, feeds: Sequence[Feed]) -> None:
        """Start to offer records, beginning with those that opening the log wrote."""
        self._feeds = tuple(feeds)
        self._required = tuple(f for f in feeds if f.terms.mode is SinkMode.REQUIRED)
        lines = self._segment.opening_lines
        self._collect(self._segment.head.seq - len(lines) + 1, lines)
        self._offer()
        self._segment.on_written = self._collect
        for feed in feeds:
            feed.start()

    def commit(
        self, entries: Sequence[Entry], *, wait: bool = True, attempt: WriteAttempt | None = None
    ) -> int:
        """`Segment.commit`; return the number of the last record, for `confirm`."""
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

    def try_commit(self, entries: Sequence[Entry], attempt: WriteAttempt) -> bool:
        """`commit` without waiting; False if it must wait."""
        try:
            self.commit(entries, wait=False, attempt=attempt)
        except BlockingIOError:
            return False
        return True

    def try_commit_encoded(
        self, records: Sequence[EncodedRecord], kind: str, attempt: WriteAttempt
    ) -> bool:
        """`Segment.commit_encoded`; False also if it must wait, or if events are noted."""
        if self._notes or not self._mutex.acquire(blocking=False):
            return False
        try:
            return self._segment.commit_encoded(records, kind, attempt)
        except BlockingIOError:
            return False
        finally:
            try:
                if self._feeds:
                    self._offer()
            finally:
                self._mutex.release()

    def confirm(self, seq: int) -> None:
        """Wait until every required sink has record `seq`. Raises `UndeliveredError`."""
        if not self._feeds:
            return
        since = time.monotonic()
        try:
            for feed in self._required:
                feed.wait_for(seq, since)
        except AuditError as error:
            raise UndeliveredError(error.message) from error
        finally:
            self.flush()

    def note(self, event: AuditEvent) -> None:
        """Keep an event for the next commit."""
        self._notes.append((encode_event(event), timestamp()))

    def flush(self) -> None:
        """Write the noted events; those that cannot be written now stay noted."""
        if not self._notes:
            return
        try:
            self.commit([])
        except AuditError as error:
            logger.warning("what became of an audit sink cannot be recorded yet: %s", error)

    def offer_checkpoint(self, seq: int, line: bytes) -> None:
        """Called by the checkpoint writer, within a commit or a pin, so under the mutex."""
        if self._feeds:
            self._pins.append(Delivery(seq, line, checkpoint=True))

    def pin(self) -> None:
        """`Segment.pin` under the mutex."""
        self.exclusively(self._segment.pin)

    def exclusively(self, act: Callable[[], T]) -> T:
        """Do something with the segment that no commit may interrupt."""
        with self._mutex:
            try:
                return act()
            finally:
                self._offer()

    def close(self) -> None:
        """Let sinks finish, sign the head, close everything, even if it raises `AuditError`."""
        try:
            for feed in self._feeds:
                feed.drain()
            self.flush()
            self.pin()
        finally:
            for feed in self._feeds:
                feed.close()
            # A feed that hung in its sink may be recording that the sink is down: its commit ends
            # first, and its next commit finds the log closed.
            self.exclusively(self._segment.close)

    def _collect(self, first: int, lines: Sequence[bytes]) -> None:
        """Keep lines for `_offer`. Called by the segment after a write, under the mutex."""
        self._records += [Delivery(seq, line[:-1]) for seq, line in enumerate(lines, first)]

    def _offer(self) -> None:
        records, self._records = self._records, []
        pins, self._pins = self._pins, []
        for feed in self._feeds:
            items = in_order([*records, *pins]) if pins and feed.terms.checkpoints else records
            if items:
                feed.offer(items)
