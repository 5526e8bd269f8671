"""The interfaces of a worker process and of a source of workers, and how a process ended."""

from __future__ import annotations

import enum
import signal
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import msgspec

from caps.protocol.enforcement import Layer
from caps.protocol.transport import Transport


class OutOfMemory(enum.Enum):
    """Whose limit was reached when the kernel's OOM killer killed a process."""

    OWN_LIMIT = "its own group's"
    ELSEWHERE = "that of a group above it, or of the machine"


class ExitStatus(msgspec.Struct, frozen=True):
    """How a process ended: its exit code or signal, and what it used; zeros if unknown."""

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


class ResourceUsage(msgspec.Struct, frozen=True, kw_only=True):
    """What an execution used: CPU time since the code was sent, and the worker's peak memory."""

    cpu_us: int
    max_rss_kb: int | None


class Worker(Protocol):
    """A process that serves one execution, or one session, and is then killed."""

    @property
    def transport(self) -> Transport: ...

    @property
    def is_over(self) -> bool:
        """Whether it is known to have ended."""

    def cpu_us(self) -> int | None:
        """The CPU time that it has used so far, in microseconds; None once it has ended."""

    def max_rss_kb(self) -> int | None:
        """Its peak memory so far, in kilobytes; None if that cannot be read."""

    def limit_memory(self, megabytes: int) -> None:
        """Bound its memory from outside, where that is possible. Raises nothing."""

    def near(self, processor: int) -> bool:
        """Run it on this processor only, when nothing else wants to run there, until `apart`.

        Returns False if that is not possible; then it is apart. Called again, it moves it.
        """

    def apart(self) -> None:
        """Undo `near`. Harmless when it is not near, or has ended. Raises nothing."""

    def kill(self) -> None:
        """Send SIGKILL. Harmless when it has ended already."""

    def interrupt(self) -> None:
        """Send SIGINT: the running cell is to stop. Harmless when none runs, or it has ended."""

    def pause(self) -> None:
        """Send SIGSTOP: it does not run until it is resumed. Harmless when it has ended."""

    def resume(self) -> None:
        """Send SIGCONT. Harmless when it was not paused, or has ended."""

    async def ended(self) -> ExitStatus:
        """Wait until it is reaped."""

    def on_end(self, callback: Callable[[], None]) -> None:
        """Call this once when it is reaped; now, if that is so already. One callback at most."""


class WorkerSource(Protocol):
    """Starts workers."""

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The layers that confine the workers of this source."""

    def with_modules(self, modules: tuple[str, ...]) -> WorkerSource:
        """A source like this one whose workers hold these real modules as well."""

    def open(self) -> AbstractAsyncContextManager[None]:
        """Be ready to start workers; on exit all of them are killed.

        Raises WorkerLostError, with `module` in its details if a real module cannot be loaded.
        """

    async def start(self) -> Worker:
        """Start a new, unused worker. Raises WorkerLostError if that fails."""
