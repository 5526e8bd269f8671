"""(8) What a sink is: a further place that gets every record, after the file log has it.

A sink is blocking and simple: connect, deliver, close. All of it runs in a thread that belongs to
this one sink (`feed.py`), which keeps time, tries again, and brings it up to date.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Protocol

import msgspec

from caps.protocol.errors import AuditError


class SinkMode(enum.Enum):
    """What it means when a sink does not take a record in time."""

    REQUIRED = "required"  # the append fails, so the effect does not happen
    BEST_EFFORT = "best_effort"  # it is dropped there and counted, or comes later to one that keeps


class SinkError(AuditError):
    """A sink does not take records now; the message says why, and shows no password."""


class Delivery(msgspec.Struct, frozen=True):
    """One line without its newline: a record, or a checkpoint that pins record `seq`."""

    seq: int
    line: bytes
    checkpoint: bool = False


class SinkTerms(msgspec.Struct, frozen=True, kw_only=True):
    """How one sink is treated."""

    name: str
    """The sink for people and metrics: its address without credentials and options."""
    mode: SinkMode
    deadline: float
    """Seconds that a required sink has to take a batch, and that any operation may wait."""
    queue: int
    """Records that may wait for it."""
    checkpoints: bool
    """Whether it gets checkpoints, too."""


class Sink(Protocol):
    """Used by one thread; each method raises `SinkError` or `OSError` and may then be retried."""

    keeps: bool
    """Whether it knows the records that it has, so that getting one twice is nothing to it."""

    def connect(self) -> int | None:
        """Makes ready, also after a failure.

        Returns the number up to which it has all records, if it knows.
        """
        ...

    def deliver(self, items: Sequence[Delivery]) -> None:
        """Returns when they are taken as safely as this kind of sink can tell.

        The same record may come again: the sink is to make nothing of it, or to let it pass.
        """
        ...

    def close(self) -> None:
        """Lets go of what it holds; may be repeated, and raises nothing."""
        ...


class SinkObserver(Protocol):
    """Is told, from the threads of the sinks, what an operator counts."""

    def sink_up(self, sink: str, up: bool) -> None: ...

    def sink_dropped(self, sink: str, records: int) -> None: ...
