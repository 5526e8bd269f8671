"""(8) The interface of a sink: a further place that gets every record after the file log has it.

A sink is blocking and simple: connect, deliver, close. All of it runs in the thread of this one
sink (`feed.py`), which enforces the deadline, tries again, and brings the sink up to date.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Protocol

import msgspec

from caps.protocol.errors import AuditError


class SinkMode(enum.Enum):
    """What happens when a sink does not take a record in time."""

    REQUIRED = "required"  # the append fails, so the effect does not happen
    BEST_EFFORT = (
        "best_effort"  # the record is dropped and counted, or sent later if the sink keeps records
    )


class SinkError(AuditError):
    """A sink does not take records now; the message says why, without a password."""


class RecordRefusedError(SinkError):
    """A sink takes records, but not one of these, because of its content or its size."""


class Delivery(msgspec.Struct, frozen=True):
    """One line without its newline: record `seq`, or a checkpoint that pins it."""

    seq: int
    line: bytes
    checkpoint: bool = False
    ascii_only: bool = False
    """Whether the sink refused the record, so that this is another form of it (`forms.py`)."""


class SinkTerms(msgspec.Struct, frozen=True, kw_only=True):
    """The delivery options of one sink."""

    name: str
    """The name in messages and metrics: the address without credentials and options."""
    mode: SinkMode
    deadline: float
    """Seconds for a required sink to take a batch, and for any single operation."""
    queue: int
    """The maximum number of records that wait for the sink."""
    checkpoints: bool
    """Whether the sink also gets checkpoints."""


class Sink(Protocol):
    """Used by one thread; each method raises `SinkError` or `OSError` and may then be retried."""

    keeps: bool
    """Whether it stores records by number, so that getting one twice has no effect."""

    def connect(self) -> int | None:
        """Get ready, also after a failure.

        Returns the number up to which it has all records, or None if it does not know.
        """
        ...

    def deliver(self, items: Sequence[Delivery]) -> None:
        """Return when the items are as safe as this kind of sink can tell.

        The same record may come again: the sink skips it, or passes it on again. If the sink
        refuses one of several records, it takes none of them and raises `RecordRefusedError`.
        """
        ...

    def close(self) -> None:
        """Release all resources; may be called again, and never raises."""
        ...


class SinkObserver(Protocol):
    """Notified of the state of the sinks, for metrics. Called from the threads of the sinks."""

    def sink_up(self, sink: str, up: bool) -> None: ...

    def sink_dropped(self, sink: str, records: int) -> None: ...
