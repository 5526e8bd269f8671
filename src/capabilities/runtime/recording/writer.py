"""(8) Writes the records of one execution: each of them once, whatever interrupts the write."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import anyio

from caps.protocol.errors import AuditError
from caps.security.audit.log.interface import AuditSink
from caps.security.audit.model.chain import EncodedRecord
from caps.security.audit.model.records import AuditEvent


class RecordWriter:
    """The base of an execution."""

    def __init__(self, audit: AuditSink) -> None:
        self._audit = audit

    def fail(self, error: AuditError) -> None:
        """The execution has failed, since one of its records could not be written."""
        raise NotImplementedError

    def write_now(self, event: AuditEvent) -> bool:
        """`append_now` exactly once, even if an interrupt comes during it or just after it."""
        events = (event,)
        try:
            return self._audit.append_now(events)
        except AuditError:
            raise
        except BaseException:
            self._make_up(events, event)
            raise

    def write_encoded(
        self, record: EncodedRecord, kind: str, event: Callable[[], AuditEvent]
    ) -> bool:
        """The same for the record of `event` as text, by `append_encoded`."""
        records = (record,)
        try:
            return self._audit.append_encoded(records, kind)
        except AuditError:
            raise
        except BaseException:
            self._make_up(records, event())
            raise

    def _make_up(self, interrupted: Sequence[object], event: AuditEvent) -> None:
        """Record `event` after an append of it was interrupted, unless that had recorded it."""
        try:
            if not self._audit.has_recorded(interrupted):
                self._audit.append_now((event,))
        except AuditError as error:
            self.fail(error)  # the interrupt is raised, not this error

    async def append_or_fail(
        self,
        event: Callable[[], AuditEvent],
        record: EncodedRecord | None = None,
        kind: str = "",
    ) -> bool:
        """Write a record; if it cannot be written the execution has failed. True if it failed.

        `record` is that of the event as text, if there is one. If the write has to wait, a
        cancellation does not interrupt it.
        """
        try:
            if record is not None and self.write_encoded(record, kind, event):
                return False
            made = event()
            if not self.write_now(made):
                with anyio.CancelScope(shield=True):
                    await self._audit.append(made)
        except AuditError as error:
            self.fail(error)
            return True
        return False
