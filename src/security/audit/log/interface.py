"""(8) `AuditSink`: the interface of an audit log, as the broker and the runtime use it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from caps.protocol.errors import AuditError
from caps.security.audit.model.chain import EncodedRecord
from caps.security.audit.model.records import AuditEvent
from caps.security.audit.model.redaction import Redactor


class UndeliveredError(AuditError):
    """The records are in the log, but a required sink does not have them yet.

    No effect may follow them, as after any `AuditError`. But they are evidence that a reader will
    find, so an allowed decision among them needs an outcome.
    """


class AuditSink(ABC):
    """Where evidence goes.

    A sink must set `redactor` and have `append` and `aclose`. The other methods have defaults that
    are correct for every sink; a sink overrides them to be faster.
    """

    redactor: Redactor
    """Makes the digests that the records of this sink carry."""
    takes_encoded: bool = False
    """Whether `append_encoded` is worth a try."""

    @abstractmethod
    async def append(self, event: AuditEvent) -> None:
        """Return when the record is durable.

        Raises `AuditError` if it is not; the caller then performs no effect. `UndeliveredError`
        says that the record was written anyway. If the waiting task is cancelled, the record is
        written anyway, too: it was passed on before the first wait.
        """

    async def append_all(self, events: Sequence[AuditEvent]) -> None:
        """Return when all records are durable. No effect may follow any of them if this raises."""
        for event in events:
            await self.append(event)

    def append_now(self, events: Sequence[AuditEvent]) -> bool:  # noqa: ARG002 - for overrides
        """Record all events without yielding to the event loop; True when all are durable.

        False means that this would have to wait, and that nothing was recorded. Raises `AuditError`
        as `append` does.
        """
        return False

    def has_recorded(self, events: Sequence[object]) -> bool:  # noqa: ARG002 - for overrides
        """Whether `events` are durable, when an interrupt ended the append of them.

        Ask with the same sequence object, before the next append. A sink that does not know says
        False: a record is written twice rather than not at all.
        """
        return False

    def append_encoded(self, records: Sequence[EncodedRecord], kind: str) -> bool:  # noqa: ARG002 - for overrides
        """`append_now` of records that the caller has encoded, as `encode_event` would; all are of
        one kind. `has_recorded` takes the same sequence.

        Where the start or the end of an execution has its `signed_seq`, there is `SIGNED_SEQ_GAP`.
        False also if this sink records events only.
        """
        return False

    @abstractmethod
    async def aclose(self) -> None:
        """End the log; raises `AuditError` if its end could not be signed."""
