"""A worker that the zygote forked, as the host holds it: its channel, its pidfd, its group."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import anyio
import msgspec

from caps.protocol.transport import SocketTransport
from caps.protocol.zygote_messages import GROUP_REFUSED
from caps.worker.host.memory.limiter import CgroupMembership
from caps.worker.host.process.cpu_clock import CpuClock
from caps.worker.host.process.peak_memory import PeakMemory
from caps.worker.host.process.pidfd import process_id
from caps.worker.host.process.placement import Placement
from caps.worker.host.process.worker import ExitStatus


class ForkedWorker:
    """A worker that the zygote forked."""

    def __init__(self, transport: SocketTransport, pidfd: int) -> None:
        """Raises OSError if its process id is unknown, which is needed to watch its CPU time."""
        self.transport = transport
        self._pidfd = pidfd
        pid = process_id(pidfd)
        self._clock = CpuClock.of(pidfd, pid)
        self._peak = PeakMemory(pidfd, pid)
        self._placement = Placement(pidfd, pid)
        self._exit_status: ExitStatus | None = None
        # Made by the first that waits: most workers have none, but a callback.
        self._over: anyio.Event | None = None
        self._on_end: Callable[[], None] | None = None
        self._membership: CgroupMembership | None = None
        self._reaped = False
        self._killed = False
        # Once it has code, the code determines its exit status.
        self._in_use = False

    @property
    def is_over(self) -> bool:
        return self._exit_status is not None

    def cpu_us(self) -> int | None:
        return self._clock.used_us() if self._exit_status is None else None

    def max_rss_kb(self) -> int | None:
        return self._peak.kilobytes() if self._exit_status is None else None

    def join(self, membership: CgroupMembership) -> None:
        """It is in a group of its own now, which it leaves when it ends."""
        if self._exit_status is None:
            self._membership = membership
        else:
            membership.leave(reaped=self._reaped)

    def descriptor(self) -> int:
        """A copy of its pidfd, which the caller closes. Raises OSError if it has ended."""
        if self._exit_status is not None:
            raise ProcessLookupError
        return os.dup(self._pidfd)

    def limit_memory(self, megabytes: int) -> None:
        self._in_use = True
        if self._membership is not None:
            self._membership.limit(megabytes)

    def near(self, processor: int) -> bool:
        return self._exit_status is None and self._placement.near(processor)

    def apart(self) -> None:
        if self._exit_status is None:
            self._placement.apart()

    def kill(self) -> None:
        if not self._killed:  # once is enough: SIGKILL cannot be blocked
            self._signal(signal.SIGKILL)
            self._killed = True

    def interrupt(self) -> None:
        self._signal(signal.SIGINT)

    def pause(self) -> None:
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        if self._exit_status is None:
            try:
                signal.pidfd_send_signal(self._pidfd, number)
            except ProcessLookupError:
                return

    async def ended(self) -> ExitStatus:
        if self._exit_status is None:
            self._over = self._over or anyio.Event()
            await self._over.wait()
        assert self._exit_status is not None
        return self._exit_status

    def on_end(self, callback: Callable[[], None]) -> None:
        if self._exit_status is None:
            self._on_end = callback
        else:
            callback()

    def end(self, status: ExitStatus, *, reaped: bool = True) -> None:
        """The zygote reaped it, or the zygote itself has ended, which kills its workers.

        The channel stays open: it may still hold unread messages of the worker.
        """
        if self._exit_status is None:
            self._exit_status = self._with_oom(status)
            self._reaped = reaped
            os.close(self._pidfd)
            self._peak.close()
            if self._membership is not None:
                if status.exit_code == GROUP_REFUSED and not self._in_use:
                    self._membership.entry_refused()
                self._membership.leave(reaped=reaped)
            if self._over is not None:
                self._over.set()
            if self._on_end is not None:
                self._on_end()

    def _with_oom(self, status: ExitStatus) -> ExitStatus:
        """Add whether it was the OOM killer, if a SIGKILL was not sent by the host."""
        if self._membership is None or self._killed or status.signal != signal.SIGKILL:
            return status
        return msgspec.structs.replace(status, out_of_memory=self._membership.out_of_memory())
