"""(8) The audit log in memory: the real interface and the real chain, without a disk."""

from __future__ import annotations

import secrets

from caps.protocol.errors import AuditError
from caps.security.audit.log.interface import AuditSink
from caps.security.audit.model.chain import ORIGIN, decode, seal_all
from caps.security.audit.model.records import AuditEvent, AuditRecord, timestamp
from caps.security.audit.model.redaction import Redactor
from caps.security.audit.model.sanitize import encode_event


class MemoryAuditLog(AuditSink):
    """The same chain in memory, for tests of programs that embed Caps.

    `capacity` bounds it: the record that no longer fits raises `AuditError`, as a full disk would.
    """

    def __init__(self, *, capacity: int | None = None) -> None:
        self.redactor = Redactor(secrets.token_bytes(32))
        self.lines: list[bytes] = []
        self._head = ORIGIN
        self._capacity = capacity
        self._closed = False

    @property
    def records(self) -> list[AuditRecord]:
        """All records so far."""
        return [decode(line) for line in self.lines]

    @property
    def events(self) -> list[AuditEvent]:
        """All events so far, without their envelopes."""
        return [record.event for record in self.records]

    async def append(self, event: AuditEvent) -> None:
        """Add one event; see `AuditSink.append`."""
        if self._closed:
            raise AuditError("the audit log is closed")
        if self._capacity is not None and len(self.lines) >= self._capacity:
            raise AuditError(f"the audit log in memory is full at {self._capacity} records")
        lines, self._head = seal_all([(encode_event(event), timestamp())], self._head)
        self.lines += lines

    async def aclose(self) -> None:
        """Refuse further events; the records stay readable."""
        self._closed = True
