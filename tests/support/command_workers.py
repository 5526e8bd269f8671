"""Workers that are started as commands, without a zygote; descriptor 0 is the channel.

For tests that replace a worker by a misbehaving program.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import anyio

from caps.protocol.enforcement import LAYERS, Enforcement, Layer
from caps.protocol.transport import SocketTransport
from caps.worker.host.process.cpu_clock import CpuClock
from caps.worker.host.process.worker import ExitStatus


class CommandWorker:
    """A child process and the host's end of its channel."""

    def __init__(self, command: Sequence[str]) -> None:
        self.transport, theirs = SocketTransport.pair()
        with theirs:
            self._process = subprocess.Popen(command, stdin=theirs.fileno(), env={}, cwd="/")
        self._pidfd = os.pidfd_open(self._process.pid)
        self._clock = CpuClock.of(self._pidfd, self._process.pid)
        self._ending: ExitStatus | None = None

    @property
    def is_over(self) -> bool:
        return self._ending is not None

    def cpu_us(self) -> int | None:
        return self._clock.used_us() if self._ending is None else None

    def max_rss_kb(self) -> int | None:
        """Unknown while it runs."""
        return None

    def limit_memory(self, megabytes: int) -> None:
        """Not bounded from outside."""

    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    def interrupt(self) -> None:
        """It ignores interrupts: the worst that a worker can do."""

    def near(self, processor: int) -> bool:
        """It runs where the kernel puts it."""
        return False

    def apart(self) -> None:
        """It is never near."""

    def pause(self) -> None:
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        if self._ending is None:
            signal.pidfd_send_signal(self._pidfd, number)

    def on_end(self, callback: Callable[[], None]) -> None:
        """Its peak memory is unknown, so its end is always waited for."""
        raise NotImplementedError

    async def ended(self) -> ExitStatus:
        if self._ending is None:
            await anyio.wait_readable(self._pidfd)
            code = self._process.wait()
            os.close(self._pidfd)
            self._ending = ExitStatus(code if code >= 0 else None, -code if code < 0 else None)
        return self._ending


class CommandWorkerSource:
    """A source whose next workers run `command`."""

    def __init__(self, command: Sequence[str]) -> None:
        self.command = command

    @property
    def layers(self) -> tuple[Layer, ...]:
        """Claims all layers: only the host's side is tested."""
        return tuple(
            Layer(name=name, enforcement=Enforcement.FULLY, detail="claimed") for name in LAYERS
        )

    def with_modules(self, modules: tuple[str, ...]) -> CommandWorkerSource:
        """The same source: these workers run their command and load no modules."""
        return self

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        yield

    async def start(self) -> CommandWorker:
        return CommandWorker(self.command)
