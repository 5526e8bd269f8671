"""Waiting for a worker's first word: that it has shut itself in.

It takes milliseconds, and on a busy machine as long as the worker is kept from the processor. One
that could run and does not is stuck, and whoever waits for it is told soon; the most that any of
them is given is for those that go round in circles.
"""

from __future__ import annotations

import anyio

from caps.protocol.connection import HostConnection
from caps.protocol.errors import ProtocolError, WorkerLostError
from caps.protocol.messages import PROTOCOL_VERSION, ReadyMessage
from caps.protocol.transport import ChannelClosedError, Transport
from caps.worker.host.process.worker import Worker

# Even where hundreds start at once, each has had some time of a processor by then.
_STUCK_SECONDS = 10.0
_LOOK_SECONDS = 1.0


class NotReadyError(WorkerLostError):
    """It was waited for in vain, and another would make the caller wait as long again.

    Details: `waited_ms`.
    """


async def until_ready(transport: Transport, connection: HostConnection) -> ReadyMessage:
    """Wait until the worker has shut itself in; WorkerLostError or ProtocolError if it does not."""
    while True:
        try:
            data = await transport.receive()
        except ChannelClosedError:
            data = b""
        if not data:
            connection.at_end()
            raise WorkerLostError("the worker closed its channel", started=False)
        for message in connection.receive(data):
            if isinstance(message, ReadyMessage):
                return _checked(message)


def _checked(ready: ReadyMessage) -> ReadyMessage:
    if ready.protocol != PROTOCOL_VERSION:
        raise ProtocolError(
            f"the worker speaks protocol {ready.protocol}, not {PROTOCOL_VERSION}",
            violation="version",
        )
    return ready


class Readiness:
    """Of one worker that was started now."""

    def __init__(self, worker: Worker, connection: HostConnection) -> None:
        self._worker = worker
        self._connection = connection
        self._began = anyio.current_time()
        self._stuck = False
        # What it had used of the processor at the last look, and when that was seen to grow.
        self._used_us: int | None = None
        self._moved = self._began

    async def awaited(self, most_seconds: float) -> ReadyMessage | None:
        """Its first word; None if it is stuck, or not ready by then: `missed` says which.

        Raises WorkerLostError or ProtocolError.
        """
        with anyio.move_on_after(most_seconds):
            while not self._stuck:
                with anyio.move_on_after(_LOOK_SECONDS):
                    return await until_ready(self._worker.transport, self._connection)
                self._look()
        return None

    def _look(self) -> None:
        now, used = anyio.current_time(), self._worker.cpu_us()
        if used is None or used != self._used_us:  # or it cannot be seen
            self._used_us, self._moved = used, now
        self._stuck = now - self._moved >= _STUCK_SECONDS

    def missed(self) -> NotReadyError:
        """What it comes to: nothing ran."""
        waited = anyio.current_time() - self._began
        doing = " and does nothing" if self._stuck else ""
        return NotReadyError(
            f"the worker was not ready after {waited:.0f} seconds{doing}",
            started=False,
            waited_ms=int(waited * 1000),
        )
