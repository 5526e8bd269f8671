"""The supervisor: runs one execution in one worker and bounds it from outside.

In a session several executions follow each other on one channel; each has a supervisor of its own.

It moves messages between the channel and a `CallHandler` (the broker), enforces wall time and
output, and ends the process when the execution ends, however that comes about. A worker that
breaks the protocol, dies or falls silent ends its own execution and nothing else.

What may come of it, beside a `ResultMessage`: LimitExceededError (a bound was reached),
ProtocolError (it lied), WorkerLostError (it died; `started` says whether the code had run).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import anyio
from anyio.abc import TaskGroup

from caps.protocol.connection import HostConnection, State
from caps.protocol.errors import (
    LimitExceededError,
    ProtocolError,
    ProviderError,
    WorkerLostError,
)
from caps.protocol.messages import (
    PROTOCOL_VERSION,
    CallFailure,
    CapabilityRequestMessage,
    CapabilityResponseMessage,
    ManifestEntry,
    ManifestMessage,
    OutputMessage,
    ReadyMessage,
    ResultMessage,
    StartedMessage,
    StartMessage,
    WorkerLimits,
)
from caps.protocol.transport import ChannelClosedError, Transport


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What a worker is asked to do, and the bounds that the host holds it to.

    `execution_id` names the channel: in a session it is the same for every cell.
    """

    execution_id: str
    namespace: str
    policy_id: str
    manifest: tuple[ManifestEntry, ...]
    source: str
    filename: str
    wall_ms: int
    output_bytes: int
    most_requests: int
    worker_limits: WorkerLimits
    session: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """What the handler says to one request."""

    result: object = None
    failure: CallFailure | None = None


# What encoding raises for an answer that the channel has no room for.
_UNSENDABLE = (ProtocolError, TypeError, ValueError, OverflowError, RecursionError)
_NO_FIT = CallFailure(
    code=ProviderError.code, message="the answer cannot be sent; it does not fit the channel"
)


class CallHandler(Protocol):
    """Who answers the requests of one execution: the broker."""

    def begin(self) -> None:
        """The code is handed over now; the execution's clock starts."""

    async def handle(self, request: CapabilityRequestMessage) -> Answer:
        """The answer to one request. Raises nothing that the worker could provoke."""


OutputHandler = Callable[[str], None]


async def until_ready(transport: Transport, connection: HostConnection) -> None:
    """Wait until the worker has shut itself in; WorkerLostError or ProtocolError if it does not."""
    while connection.state is State.BOOTING:
        try:
            data = await transport.receive()
        except ChannelClosedError:
            data = b""
        if not data:
            connection.at_end()
            raise WorkerLostError("the worker closed its channel", started=False)
        for message in connection.receive(data):
            if isinstance(message, ReadyMessage) and message.protocol != PROTOCOL_VERSION:
                raise ProtocolError(
                    f"the worker speaks protocol {message.protocol}, not {PROTOCOL_VERSION}",
                    violation="version",
                )


@dataclass(slots=True)
class Execution:
    """One job on one channel. Mutable, private to its task."""

    job: Job
    transport: Transport
    connection: HostConnection
    calls: CallHandler
    on_output: OutputHandler
    printed_bytes: int = 0
    requests: int = 0
    started: bool = False

    async def run(self) -> ResultMessage:
        """Hand over manifest and code, then serve requests until the result or the wall limit."""
        with anyio.move_on_after(self.job.wall_ms / 1000):
            self.calls.begin()
            await self._hand_over()
            return await self._serve_to_end()
        raise LimitExceededError(
            f"the code ran longer than {self.job.wall_ms} ms; raise `limits.wall_ms` if it may",
            limit="wall_ms",
            allowed=self.job.wall_ms,
        )

    async def _hand_over(self) -> None:
        job, connection = self.job, self.connection
        # A later cell of a session finds the manifest of the first in force.
        manifest = self._manifest() if connection.state is State.READY else b""
        start = connection.send(
            StartMessage(
                source=job.source,
                filename=job.filename,
                limits=job.worker_limits,
                **connection.stamp(),
            )
        )
        await self._send_bytes(manifest + start)

    def _manifest(self) -> bytes:
        job = self.job
        return self.connection.send(
            ManifestMessage(
                execution_id=job.execution_id,
                namespace=job.namespace,
                policy_id=job.policy_id,
                capabilities=list(job.manifest),
                session=job.session,
                **self.connection.stamp(),
            )
        )

    async def _serve_to_end(self) -> ResultMessage:
        ended: ResultMessage | Exception
        async with anyio.create_task_group() as calls:
            try:
                ended = await self._serve(calls)
            except Exception as error:  # noqa: BLE001 - raised below, outside the group, unwrapped
                ended = error
            # The execution is over: whatever it still waits for is cancelled.
            calls.cancel_scope.cancel()
        if isinstance(ended, ProtocolError):
            self.started = True  # from a liar, "never ran" cannot be believed
        if isinstance(ended, Exception):
            raise ended
        return ended

    async def _serve(self, calls: TaskGroup) -> ResultMessage:
        while True:
            for message in self.connection.receive(await self._receive()):
                match message:
                    case CapabilityRequestMessage():
                        self._count_request()
                        calls.start_soon(self._answer, message)
                    case OutputMessage():
                        self._take_output(message.text)
                    case StartedMessage():
                        self.started = True
                    case ResultMessage():
                        return message

    def _count_request(self) -> None:
        # Refusals answer what is over the policy's limit; who goes on all the same is flooding.
        self.requests += 1
        if self.requests > self.job.most_requests:
            raise ProtocolError(
                f"more than {self.job.most_requests} requests, refused ones included",
                violation="flood",
            )

    async def _answer(self, request: CapabilityRequestMessage) -> None:
        answer = await self.calls.handle(request)
        if self.connection.state is State.FAILED:
            return  # the execution ends now, with the violation as its reason
        try:
            data = self._encoded(request, answer)
        except _UNSENDABLE:
            # A provider's own error details may be anything; one call fails, not the execution.
            data = self._encoded(request, Answer(failure=_NO_FIT))
        await self._send_bytes(data)

    def _encoded(self, request: CapabilityRequestMessage, answer: Answer) -> bytes:
        return self.connection.send(
            CapabilityResponseMessage(
                request_id=request.request_id,
                result=answer.result,
                failure=answer.failure,
                **self.connection.stamp(),
            )
        )

    def _take_output(self, text: str) -> None:
        # An empty message counts too, or a worker could send them without end.
        self.printed_bytes += max(1, len(text.encode()))
        if self.printed_bytes > self.job.output_bytes:
            raise LimitExceededError(
                f"the code printed more than {self.job.output_bytes} bytes; "
                "raise `limits.output_bytes` if it may",
                limit="output_bytes",
                allowed=self.job.output_bytes,
            )
        self.on_output(text)

    async def _send_bytes(self, data: bytes) -> None:
        try:
            await self.transport.send(data)
        except ChannelClosedError:
            # The reading side learns how the worker ended, and says it better.
            return

    async def _receive(self) -> bytes:
        try:
            data = await self.transport.receive()
        except ChannelClosedError:
            data = b""
        if not data:
            self.connection.at_end()
            raise WorkerLostError("the worker closed its channel", started=self.started)
        return data
