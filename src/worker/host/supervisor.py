"""The supervisor: runs one execution in one worker and bounds it from outside.

In a session several executions follow each other on one channel; each has a supervisor of its own.

It moves messages between the channel and a `CallHandler` (the broker), enforces wall time, CPU time
and output, and ends the process when the execution ends, however that comes about. A worker that
breaks the protocol, dies or falls silent ends its own execution and nothing else. One that asks for
much and takes few answers is not read until it has taken them, so that what the host holds for it
is bounded.

What may come of it, beside a `ResultMessage`: LimitExceededError (a bound was reached),
ProtocolError (it lied), WorkerLostError (it died; `started` says whether the code had run).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeGuard

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
    FromWorker,
    ManifestMessage,
    OutputMessage,
    ReadyMessage,
    ResultMessage,
    StartedMessage,
    StartMessage,
)
from caps.protocol.transport import ChannelClosedError, Transport
from caps.worker.host.cpu_limit import cpu_limit_reached, is_used_up
from caps.worker.host.job import Answer, CallHandler, Job, OutputHandler, TakenUp
from caps.worker.host.process import Ending, Used, Worker

__all__ = ["Answer", "CallHandler", "Execution", "Job", "OutputHandler", "until_ready"]


# What encoding raises for an answer that the channel has no room for.
_UNSENDABLE = (ProtocolError, TypeError, ValueError, OverflowError, RecursionError)
_NO_FIT = CallFailure(
    code=ProviderError.code, message="the answer cannot be sent; it does not fit the channel"
)


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


class _Arrival(NamedTuple):
    """Messages that came together, as far as the task of the execution has to do with them."""

    requests: Sequence[CapabilityRequestMessage]
    taken_up: TakenUp | None
    result: ResultMessage | None


@dataclass(slots=True)
class Execution:
    """One job on one channel. Mutable, private to its task."""

    job: Job
    worker: Worker
    connection: HostConnection
    calls: CallHandler
    on_output: OutputHandler
    program: bytes = b""
    """What the source compiles to, if a compiler process has told."""
    used_at_result: Used | None = None
    """What the code had used when it gave its result, if that can be seen while the worker lives;
    what was measured then is not waited for."""
    printed_bytes: int = 0
    requests: int = 0
    started: bool = False
    _begun_us: int | None = None
    _hung_up: bool = False
    _stopped: bool = False
    _untaken_bytes: int = 0
    _taken: anyio.Event = field(default_factory=anyio.Event)
    _taken_up: TakenUp | None = None

    async def run(self) -> ResultMessage:
        """Hand over manifest and code, then serve requests until the result or the wall limit."""
        with self.job.clock.start(self.job.wall_ms):
            self.calls.begin()
            # What it used before, to get ready, is not the code's.
            self._begun_us = self.worker.cpu_us()
            await self._hand_over()
            return await self._serve_to_end()
        raise LimitExceededError(
            f"the code ran longer than {self.job.wall_ms} ms; raise `limits.wall_ms` if it may",
            limit="wall_ms",
            allowed=self.job.wall_ms,
        )

    def used(self, ending: Ending) -> Used | None:
        """What the code used, once its worker has ended; None if nobody could measure it."""
        if self._begun_us is None or not ending.max_rss_kb:
            return None
        cpu_us = max(0, ending.cpu_us - self._begun_us)
        return Used(cpu_us=cpu_us, max_rss_kb=ending.max_rss_kb)

    def used_so_far(self) -> Used | None:
        """What a cell used, while its worker lives on; None if nobody could measure it."""
        now_us = None if self._begun_us is None else self.worker.cpu_us()
        if self._begun_us is None or now_us is None:
            return None
        return Used(cpu_us=max(0, now_us - self._begun_us), max_rss_kb=None)

    async def _hand_over(self) -> None:
        job, connection = self.job, self.connection
        # A later cell of a session finds the manifest of the first in force.
        manifest = self._manifest() if connection.state is State.READY else b""
        start = connection.send(
            StartMessage(
                source=job.source,
                filename=job.filename,
                limits=job.worker_limits,
                check=job.check,
                program=self.program,
                **connection.stamp(),
            )
        )
        await self._send_bytes(manifest + start)

    def _manifest(self) -> bytes:
        job = self.job
        # To the encoder, what is encoded is as good as what is not.
        capabilities: Any = list(job.manifest) if job.manifest_bytes is None else job.manifest_bytes
        return self.connection.send(
            ManifestMessage(
                execution_id=job.execution_id,
                namespace=job.namespace,
                policy_id=job.policy_id,
                capabilities=capabilities,
                session=job.session,
                **self.connection.stamp(),
            )
        )

    async def _serve_to_end(self) -> ResultMessage:
        ended: ResultMessage | Exception | None = None
        try:
            ended = await self._serve_the_most()
        except Exception as error:  # noqa: BLE001 - raised below, when the worker is stopped
            ended = error
        finally:
            self._stop(ended)
        if ended is None:  # nobody but the watch cancels the calls before that
            raise cpu_limit_reached(self.job.worker_limits.cpu_ms)
        if isinstance(ended, ProtocolError):
            self.started = True  # from a liar, "never ran" cannot be believed
        if isinstance(ended, Exception):
            raise ended
        return ended

    async def _serve_the_most(self) -> ResultMessage | None:
        """Its result; None if it used up its CPU time.

        Most code makes no call and ends before its CPU time could be used up, and needs no task
        beside this one.
        """
        messages: Sequence[FromWorker] = ()
        with anyio.move_on_after(self.job.worker_limits.cpu_ms / 1000):
            while not any(isinstance(one, CapabilityRequestMessage) for one in messages):
                for message in messages:
                    if self._take(message):
                        return message
                messages = ()
                messages = self.connection.receive(await self._receive())
        return await self._serve_with_calls(messages)

    async def _serve_with_calls(self, messages: Sequence[FromWorker]) -> ResultMessage | None:
        ended: ResultMessage | Exception | None = None
        async with anyio.create_task_group() as calls:
            calls.start_soon(self._watch_cpu, calls.cancel_scope)
            try:
                ended = await self._serve(calls, messages)
            except Exception as error:  # noqa: BLE001 - raised below, outside the group, unwrapped
                ended = error
            finally:
                self._stop(ended)
            # The execution is over: whatever it still waits for is cancelled.
            calls.cancel_scope.cancel()
        if isinstance(ended, Exception):
            raise ended
        return ended

    async def _watch_cpu(self, execution: anyio.CancelScope) -> None:
        if self._begun_us is not None:
            end_us = self._begun_us + self.job.worker_limits.cpu_ms * 1000
            if await is_used_up(self.worker.cpu_us, end_us):
                execution.cancel()

    def _stop(self, ended: ResultMessage | Exception | None) -> None:
        """End the code now: its calls may have to wait for their evidence, and it must not run on.

        A worker that closed its channel is ending by itself, and how it does is yet to be learnt.
        One that gave a result in a session has ended its cell, and waits for the next.
        """
        if self._stopped:
            return
        self._stopped = True
        waits = self.job.session and isinstance(ended, ResultMessage)
        if isinstance(ended, ResultMessage) and not waits:
            self.used_at_result = self._seen_use()
        if not self._hung_up and not waits:
            self.worker.kill()

    def _seen_use(self) -> Used | None:
        """What the code used, as it can be seen while its worker lives."""
        so_far, max_rss_kb = self.used_so_far(), self.worker.max_rss_kb()
        if so_far is None or max_rss_kb is None:
            return None
        return Used(cpu_us=so_far.cpu_us, max_rss_kb=max_rss_kb)

    async def _serve(self, calls: TaskGroup, messages: Sequence[FromWorker]) -> ResultMessage:
        try:
            arrival = self._arrived(messages)
            while True:
                await self._answer(arrival, calls)
                if arrival.result is not None:
                    return arrival.result
                if not self.connection.has_room(self._untaken_bytes):
                    await self._until_room()
                arrival = await self._next_arrival()
        finally:
            if self._taken_up is not None:  # nobody has gone on with it
                with anyio.CancelScope(shield=True):
                    await self._taken_up.give_up()
                self._conclude(self._taken_up)

    async def _next_arrival(self) -> _Arrival:
        try:
            return await self.worker.transport.receive_until(self._answer_now)
        except ChannelClosedError:
            self._unless_closed(b"")
            raise

    def _arrived(self, messages: Sequence[FromWorker]) -> _Arrival:
        """Act on what asks for no answer, and take up what does."""
        result: ResultMessage | None = None
        requests: list[CapabilityRequestMessage] = []
        for message in messages:
            if type(message) is CapabilityRequestMessage:
                self._count_request()
                requests.append(message)
            elif self._take(message):
                result = message
        self._taken_up = self.calls.take_up(requests) if requests else None
        return _Arrival(requests, self._taken_up, result)

    def _answer_now(self, data: bytes) -> _Arrival | None:
        """What comes of `data` that needs the task; None if nothing does.

        Most calls are answered here, as soon as their bytes are there, and no task is woken.
        """
        arrival = self._arrived(self.connection.receive(self._unless_closed(data)))
        taken_up, result = arrival.taken_up, arrival.result
        all_sent = True
        if taken_up is not None:
            answers = taken_up.answers if taken_up.advance() else None
            if answers is None or None in answers:
                return arrival
            all_sent = self._send_now(self._encoded_all(arrival.requests, answers))
            self._conclude(taken_up)
        return None if all_sent and result is None else _Arrival((), None, result)

    async def _answer(self, arrival: _Arrival, calls: TaskGroup) -> None:
        """Answer what came together; what has to wait does so in a task of its own."""
        requests, taken_up = arrival.requests, arrival.taken_up
        if taken_up is None:
            await self._send_answers(b"")  # what is left of those that were answered before
            return
        try:
            if not taken_up.advance():
                await taken_up.finish()
            answers = taken_up.answers
            for request, answer in zip(requests, answers, strict=True):
                if answer is None:
                    calls.start_soon(self._answer_alone, request)
            data = self._encoded_all(requests, answers)
        finally:
            self._conclude(taken_up)
        await self._send_answers(data)

    def _conclude(self, taken_up: TakenUp) -> None:
        self._taken_up = None
        taken_up.conclude()

    def _encoded_all(
        self, requests: Sequence[CapabilityRequestMessage], answers: Sequence[Answer | None]
    ) -> bytes:
        """The answers that there are."""
        pairs = zip(requests, answers, strict=True)
        return b"".join(
            [
                self._encoded_or_failure(request, answer)
                for request, answer in pairs
                if answer is not None
            ]
        )

    def _take(self, message: FromWorker) -> TypeGuard[ResultMessage]:
        """Act on what asks for no answer; whether it is the result."""
        match message:
            case OutputMessage():
                self._take_output(message.text)
            case StartedMessage():
                self.started = True
        return isinstance(message, ResultMessage)

    async def _until_room(self) -> None:
        # The worker reads while it cannot write, so both sides never wait for each other.
        while not self.connection.has_room(self._untaken_bytes):
            self._taken = anyio.Event()
            await self._taken.wait()

    def _count_request(self) -> None:
        # Refusals answer what is over the policy's limit; who goes on all the same is flooding.
        self.requests += 1
        if self.requests > self.job.most_requests:
            raise ProtocolError(
                f"more than {self.job.most_requests} requests, refused ones included",
                violation="flood",
            )

    async def _answer_alone(self, request: CapabilityRequestMessage) -> None:
        answer = await self.calls.handle(request)
        if self.connection.state is State.FAILED:
            return  # the execution ends now, with the violation as its reason
        await self._send_answers(self._encoded_or_failure(request, answer))

    async def _send_answers(self, data: bytes) -> None:
        self._untaken_bytes += len(data)
        try:
            await self._send_bytes(data)
        finally:
            self._untaken_bytes -= len(data)
            self._taken.set()

    def _encoded_or_failure(self, request: CapabilityRequestMessage, answer: Answer) -> bytes:
        try:
            return self._encoded(request, answer)
        except _UNSENDABLE:
            # A provider's own error details may be anything; one call fails, not the execution.
            return self._encoded(request, Answer(failure=_NO_FIT))

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

    def _send_now(self, data: bytes) -> bool:
        """Whether all of it is sent; the rest goes before what is sent next."""
        try:
            return self.worker.transport.send_now(data)
        except ChannelClosedError:
            return True  # as for `_send_bytes`

    async def _send_bytes(self, data: bytes) -> None:
        try:
            await self.worker.transport.send(data)
        except ChannelClosedError:
            # The reading side learns how the worker ended, and says it better.
            return

    async def _receive(self) -> bytes:
        try:
            return self._unless_closed(await self.worker.transport.receive())
        except ChannelClosedError:
            return self._unless_closed(b"")

    def _unless_closed(self, data: bytes) -> bytes:
        """`data`, unless it is nothing: the worker closed its channel."""
        if not data:
            self._hung_up = True
            self.connection.at_end()
            raise WorkerLostError("the worker closed its channel", started=self.started)
        return data
