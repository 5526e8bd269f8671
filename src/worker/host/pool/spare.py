"""A spare worker, and the wait for its ready message, which says that it has confined itself.

The message comes within milliseconds, or later on a busy machine, when the worker gets no processor
time. A worker that uses no CPU time for several seconds is stuck, and the wait ends early. The
maximum wait is for a worker that uses CPU time and still does not become ready.
"""

from __future__ import annotations

import math
import time

import anyio
import msgspec

from caps.protocol.connection import HostConnection
from caps.protocol.errors import ProtocolError, WorkerLostError
from caps.protocol.messages import PROTOCOL_VERSION, ReadyMessage
from caps.protocol.transport import ChannelClosedError, ReadTimeout, Transport
from caps.worker.host.process.worker import Worker
from caps.worker.host.supervisor.interface import Manifest


class Spare(msgspec.Struct, frozen=True):
    """A worker, its channel, and its ready message; and its owner, once it has one."""

    worker: Worker
    connection: HostConnection
    ready: ReadyMessage
    owner: str = ""
    manifest: Manifest | None = None
    """What it was sent before it was taken, if it was."""
    made_at: float = msgspec.field(default_factory=time.monotonic)


# Even if hundreds start concurrently, each has had some processor time by then.
_STUCK_SECONDS = 10.0
_POLL_SECONDS = 1.0


class NotReadyError(WorkerLostError):
    """The worker was not ready in time. There is no retry: it would take the caller as long again.

    Details: `waited_ms`.
    """


async def wait_until_ready(
    transport: Transport, connection: HostConnection, within_s: float = math.inf
) -> ReadyMessage:
    """Wait until the worker has confined itself, without a cancel scope.

    Raises WorkerLostError, ProtocolError or ReadTimeout.
    """

    def take(data: bytes) -> ReadyMessage | None:
        if not data:
            connection.at_end()
            raise WorkerLostError("the worker closed its channel", started=False)
        for message in connection.receive(data):
            if isinstance(message, ReadyMessage):
                return _check_version(message)
        return None

    try:
        return await transport.receive_until(take, within_s)
    except ChannelClosedError:
        connection.at_end()
        raise WorkerLostError("the worker closed its channel", started=False) from None


def _check_version(ready: ReadyMessage) -> ReadyMessage:
    if ready.protocol != PROTOCOL_VERSION:
        raise ProtocolError(
            f"the worker speaks protocol {ready.protocol}, not {PROTOCOL_VERSION}",
            violation="version",
        )
    return ready


class ReadinessWait:
    """The wait for one worker that has just been started."""

    def __init__(self, worker: Worker, connection: HostConnection) -> None:
        self._worker = worker
        self._connection = connection
        self._started_at = anyio.current_time()
        self._stuck = False
        # Its CPU time at the last poll, and when that was last seen to grow.
        self._used_us: int | None = None
        self._progress_at = self._started_at

    async def wait(self, max_seconds: float) -> ReadyMessage | None:
        """The ready message; None if it is stuck or not ready in time: `timeout_error` says which.

        Raises WorkerLostError or ProtocolError.
        """
        worker, left = self._worker, max_seconds
        while left > 0 and not self._stuck:
            try:
                return await wait_until_ready(
                    worker.transport, self._connection, min(left, _POLL_SECONDS)
                )
            except ReadTimeout:
                self._poll()
            left = self._started_at + max_seconds - anyio.current_time()
        return None

    def _poll(self) -> None:
        now, used = anyio.current_time(), self._worker.cpu_us()
        if used is None or used != self._used_us:  # None: it cannot be measured
            self._used_us, self._progress_at = used, now
        self._stuck = now - self._progress_at >= _STUCK_SECONDS

    def timeout_error(self) -> NotReadyError:
        """The error for a worker that did not become ready. No code ran."""
        waited = anyio.current_time() - self._started_at
        doing = " and does nothing" if self._stuck else ""
        return NotReadyError(
            f"the worker was not ready after {waited:.0f} seconds{doing}",
            started=False,
            waited_ms=int(waited * 1000),
        )
