"""(8) The events that are committed together, and what became of them for all who wait.

They are spelt only when the batch is written, all in one go, which takes half the time of doing it
one by one between other tasks. An event that cannot be recorded fails for whoever handed it in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from caps.protocol.errors import AuditError
from caps.security.audit.model.sanitize import storable
from caps.security.audit.model.records import AuditEvent
from caps.security.audit.log.segment import Entry
from caps.security.audit.waking import Waiters, waiters_here


@dataclass(slots=True, eq=False)
class Batch:
    """What several appends handed in; failed until proven committed.

    The loop adds to it until it hands the batch to the thread; the thread says what became of it,
    and hands it back.
    """

    appends: list[tuple[Sequence[AuditEvent], str]] = field(default_factory=list)
    """The events of each, and when they were handed in."""
    waiters: Waiters = field(default_factory=waiters_here)
    settled: bool = False
    committed: int = 0
    """How many of the appends were, but for those that were refused."""
    error: Exception | None = None
    """Why none of it was committed, if that is so."""
    refused: dict[int, Exception] = field(default_factory=dict)
    """By the place of an append: why its events cannot be recorded."""

    def commit(self, write: Callable[[list[Entry]], object]) -> None:
        """Has `write` commit all that can be recorded; of one append all or none."""
        entries: list[Entry] = []
        appends = self.appends.copy()
        for place, (events, ts) in enumerate(appends):
            try:
                entries += [(storable(event), ts) for event in events]
            except Exception as error:  # noqa: BLE001 - `outcome` raises it, for whoever waits
                self.refused[place] = error
        try:
            write(entries)
            self.committed = len(appends)
        except Exception as error:  # noqa: BLE001 - `outcome` raises it, for all who wait
            self.error = error
        self.settled = True

    def fail(self, error: Exception) -> None:
        """It is not committed, and will not be."""
        self.error = error
        self.settled = True

    def outcome(self, place: int) -> None:
        """Returns if the append in this place was committed; raises `AuditError` if not."""
        error = self.refused.get(place, self.error)
        if error is None and place < self.committed:
            return
        # Each waiter raises its own: tracebacks grow on the exception that is raised.
        if isinstance(error, AuditError):
            raise AuditError(error.message) from error
        raise AuditError("the audit log failed to write, for no reason of the disk") from error
