"""(8) The events that are committed together, and what became of them for all who wait."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

import anyio

from caps.protocol.errors import AuditError
from caps.security.audit.segment import Entry


@dataclass(slots=True, eq=False)
class Batch:
    """Events that are committed together; failed until proven committed.

    `mutex` guards `settled`, `committed` and `error`.
    """

    entries: list[Entry]
    settled: bool = False
    committed: bool = False
    error: Exception | None = None
    mutex: threading.Lock = field(default_factory=threading.Lock)
    _done: anyio.Event | None = None

    async def wait(self) -> None:
        if self._done is None:
            self._done = anyio.Event()
        await self._done.wait()

    def wake(self) -> None:
        if self._done is not None:
            self._done.set()

    def outcome(self) -> None:
        if self.committed:
            return
        # Each waiter raises its own: tracebacks grow on the exception that is raised.
        if isinstance(self.error, AuditError):
            raise AuditError(self.error.message) from self.error
        raise AuditError("the audit log failed to write, for no reason of the disk") from self.error
