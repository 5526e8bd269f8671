"""One worker as the host holds it: its channel, its life, its end."""

from __future__ import annotations

import enum
import signal
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import msgspec

from caps.protocol.enforcement import Layer
from caps.protocol.transport import Transport


class OutOfMemory(enum.Enum):
    """Whose limit it was when the kernel killed a process for want of memory."""

    OWN_LIMIT = "its own group's"
    ELSEWHERE = "that of a group above it, or of the machine"


class Ending(msgspec.Struct, frozen=True):
    """How a process ended: its exit status or signal, and what it used; zeros if unknown."""

    exit_code: int | None
    signal: int | None
    cpu_us: int = 0
    max_rss_kb: int = 0
    out_of_memory: OutOfMemory | None = None

    def __str__(self) -> str:
        if self.signal is None:
            return f"exit status {self.exit_code}"
        if self.out_of_memory is OutOfMemory.ELSEWHERE:
            return "killed by the kernel, as the host ran out of memory"
        try:
            return f"killed by {signal.Signals(self.signal).name}"
        except ValueError:  # most real-time signals have no name
            return f"killed by signal {self.signal}"


class Used(msgspec.Struct, frozen=True, kw_only=True):
    """What an execution used of its worker: CPU time since the code was handed over, and memory."""

    cpu_us: int
    max_rss_kb: int | None


class Worker(Protocol):
    """A process that serves one execution, or one session, and dies."""

    @property
    def transport(self) -> Transport: ...

    @property
    def is_over(self) -> bool:
        """Whether it is known to have ended."""

    def cpu_us(self) -> int | None:
        """The CPU time that it has used so far, in microseconds; None once it is gone."""

    def max_rss_kb(self) -> int | None:
        """The most memory that it has held so far, in kilobytes; None if that cannot be seen."""

    def limit_memory(self, megabytes: int) -> None:
        """Bound what it may use from outside, where that can be done. Raises nothing."""

    def kill(self) -> None:
        """SIGKILL, from outside; harmless when it is gone already."""

    def pause(self) -> None:
        """SIGSTOP: it does nothing at all until it is resumed. Harmless when it is gone."""

    def resume(self) -> None:
        """SIGCONT. Harmless when it was not paused, or is gone."""

    async def ended(self) -> Ending:
        """Wait until it is reaped."""


class WorkerSource(Protocol):
    """Where workers come from."""

    @property
    def layers(self) -> tuple[Layer, ...]:
        """Which layers hold the workers of this source."""

    def with_modules(self, modules: tuple[str, ...]) -> WorkerSource:
        """A source like this one whose workers hold these real modules as well."""

    def open(self) -> AbstractAsyncContextManager[None]:
        """Be ready to start workers; on the way out all of them are gone.

        Raises WorkerLostError, with `module` in its details if it is a real module that cannot be
        had.
        """

    async def start(self) -> Worker:
        """A fresh worker that nobody has used. Raises WorkerLostError if there can be none."""
