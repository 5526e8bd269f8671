"""(8) Writes the records of one execution: each of them once, whatever interrupts the write."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import anyio

from caps.protocol.errors import AuditError
from caps.security.audit.log.interface import AuditSink
from caps.security.audit.model.chain import EncodedRecord
from caps.security.audit.model.records import AuditEvent


class RecordWriter(ABC):
    """The base of an execution."""

    _audit: AuditSink

    @abstractmethod
    def fail(self, error: AuditError) -> None:
        """The execution has failed, since one of its records could not be written."""

    def write(
        self, event: Callable[[], AuditEvent], record: EncodedRecord | None = None, kind: str = ""
    ) -> AuditEvent | None:
        """Record an event now; the event if that has to wait, and nothing was recorded.

        `record` is its text, if there is one. Even if an interrupt comes during an append or just
        after it, the event is recorded exactly once. Raises AuditError.
        """
        if record is not None:
            records = (record,)
            try:
                if self._audit.append_encoded(records, kind):
                    return None
            except AuditError:
                raise
            except BaseException:
                self._record_after_interrupt(records, event())
                raise
        made = event()
        return None if self._write_event(made) else made

    def _write_event(self, event: AuditEvent) -> bool:
        events = (event,)
        try:
            return self._audit.append_now(events)
        except AuditError:
            raise
        except BaseException:
            self._record_after_interrupt(events, event)
            raise

    def _record_after_interrupt(self, interrupted: Sequence[object], event: AuditEvent) -> None:
        """Record `event` after an append of it was interrupted, unless that had recorded it."""
        try:
            if not self._audit.has_recorded(interrupted):
                self._audit.append_now((event,))
        except AuditError as error:
            self.fail(error)  # the interrupt is raised, not this error

    async def append_or_fail(
        self, event: Callable[[], AuditEvent], record: EncodedRecord | None = None, kind: str = ""
    ) -> bool:
        """Record an event; if that is impossible the execution has failed. True if it failed.

        If the write has to wait, a cancellation does not interrupt it.
        """
        try:
            waiting = self.write(event, record, kind)
            if waiting is not None:
                await self._append_shielded(waiting)
        except AuditError as error:
            self.fail(error)
            return True
        return False

    async def _append_shielded(self, event: AuditEvent) -> None:
        with anyio.CancelScope(shield=True):
            await self._audit.append(event)
