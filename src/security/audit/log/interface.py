"""(8) What takes evidence: the least that the broker needs, and what a sink may offer beside it.

A sink that offers less is served by its `append`, at the price of the time that it takes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from caps.security.audit.model.records import AuditEvent
from caps.security.audit.model.redaction import Redactor


class AuditSink(Protocol):
    """Where evidence goes. The broker needs no more than this."""

    @property
    def redactor(self) -> Redactor:
        """Makes the digests that this sink's records carry."""
        ...

    async def append(self, event: AuditEvent) -> None:
        """Returns when the record is safe.

        Raises `AuditError` if it is not; the caller then performs no effect.
        """
        ...

    async def aclose(self) -> None:
        """Ends the log; raises `AuditError` if its end could not be pinned."""
        ...


@runtime_checkable
class BatchSink(Protocol):
    """One that takes several events at once."""

    async def append_all(self, events: Sequence[AuditEvent]) -> None:
        """Returns when all are safe; raises `AuditError` if any is not."""
        ...


@runtime_checkable
class PromptSink(Protocol):
    """One that may take events without giving up the event loop."""

    def append_now(self, events: Sequence[AuditEvent]) -> bool:
        """True when all are safe; False, and nothing is done, if that has to wait."""
        ...


@runtime_checkable
class InterruptedSink(Protocol):
    """One that knows how far `append_now` came when an interrupt of the program ended it."""

    def took(self, events: Sequence[AuditEvent]) -> bool:
        """Whether these very events are safe: they were handed in last."""
        ...


def all_at_once(sink: AuditSink) -> Callable[[Sequence[AuditEvent]], Awaitable[None]]:
    """How `sink` takes several events: it returns when all are safe, and raises if any is not."""

    async def one_by_one(events: Sequence[AuditEvent]) -> None:
        for event in events:
            await sink.append(event)

    return sink.append_all if isinstance(sink, BatchSink) else one_by_one


def in_this_step(sink: AuditSink) -> Callable[[Sequence[AuditEvent]], bool]:
    """How `sink` takes several events without giving up the event loop: True when all are safe.

    False, and nothing is done, if that has to wait; what cannot say so always waits.
    """

    def waits(_events: Sequence[AuditEvent]) -> bool:
        return False

    return sink.append_now if isinstance(sink, PromptSink) else waits


def taken_when_interrupted(sink: AuditSink) -> Callable[[Sequence[AuditEvent]], bool]:
    """Whether `sink` took what was handed in last, if an interrupt came before it could say so.

    False of one that does not know: evidence is given twice rather than not at all.
    """

    def unknown(_events: Sequence[AuditEvent]) -> bool:
        return False

    return sink.took if isinstance(sink, InterruptedSink) else unknown


@dataclass(frozen=True, slots=True)
class Recorder:
    """How one sink takes evidence: found out once, and not anew for every execution."""

    redactor: Redactor
    record: Callable[[AuditEvent], Awaitable[None]]
    """Returns when the record is durable, and raises AuditError when it is not."""
    record_all: Callable[[Sequence[AuditEvent]], Awaitable[None]]
    """Returns when all are durable; nothing may come of any of them if this raises."""
    record_now: Callable[[Sequence[AuditEvent]], bool]
    """The same without waiting: False, and nothing is recorded, if that is not possible."""
    recorded_when_interrupted: Callable[[Sequence[AuditEvent]], bool]
    """Whether `record_now` had done its work when an interrupt ended it; asked at once."""

    @classmethod
    def of(cls, sink: AuditSink) -> Recorder:
        return cls(
            sink.redactor,
            sink.append,
            all_at_once(sink),
            in_this_step(sink),
            taken_when_interrupted(sink),
        )
