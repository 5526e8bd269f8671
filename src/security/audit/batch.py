"""(8) The events that are committed together, and what became of them for all who wait.

They are spelt only when the batch is written, all in one go, which takes half the time of doing it
one by one between other tasks. An event that cannot be recorded fails for whoever handed it in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from caps.protocol.errors import AuditError
from caps.security.audit.bounds import storable
from caps.security.audit.records import AuditEvent
from caps.security.audit.segment import Entry
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
    error: Exception | None = None
    """Why none of it was committed, if that is so."""
    refused: dict[int, AuditError] = field(default_factory=dict)
    """By the place of an append: why its events cannot be recorded."""

    def entries(self) -> list[Entry]:
        """All that can be recorded; of one append all or none."""
        found: list[Entry] = []
        for place, (events, ts) in enumerate(self.appends):
            try:
                found += [(storable(event), ts) for event in events]
            except AuditError as error:
                self.refused[place] = error
        return found

    def settle(self, error: Exception | None) -> None:
        self.settled = True
        self.error = error

    def outcome(self, place: int) -> None:
        """Returns if the append in this place was committed; raises `AuditError` if not."""
        error = self.refused.get(place, self.error)
        if error is None and self.settled:
            return
        # Each waiter raises its own: tracebacks grow on the exception that is raised.
        if isinstance(error, AuditError):
            raise AuditError(error.message) from error
        raise AuditError("the audit log failed to write, for no reason of the disk") from error
