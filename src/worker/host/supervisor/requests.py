"""(5) Receives the requests of one execution and sends their answers.

Data is processed when it arrives, in the event loop's read callback. Calls that wait for nothing
are answered there, and the task of the execution keeps sleeping. The task is woken for everything
that has to wait (for an audit record, for room in the channel) and for the result. A call that
waits for its provider has a task of its own.

What the host holds for a worker is bounded (`ByteBudget`): a worker that sends many requests and
does not read its answers is not read from until it has read them, a large message is decoded when
there is room for it, and a call begins when there is room for its result. Large messages are
decoded, checked and hashed in a thread.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from typing import NoReturn

import anyio
import msgspec
from anyio.abc import TaskGroup
from msgspec.structs import replace

from caps.protocol.connection import UNSENDABLE, Decoded, HostConnection, State
from caps.protocol.errors import ProtocolError, ProviderError
from caps.protocol.messages import (
    CallFailure,
    CapabilityRequestMessage,
    FromWorker,
    ResultMessage,
    StreamItemMessage,
    StreamNextMessage,
)
from caps.protocol.transport import ChannelClosedError, Transport
from caps.worker.host.process.shared_processor import CALLS_PER_REPORT, SharedProcessor
from caps.worker.host.supervisor.byte_budget import DECISION_BYTES, ByteBudget
from caps.worker.host.supervisor.interface import (
    SENT,
    CallHandler,
    CallResponse,
    ItemSink,
    Job,
    RequestBatch,
)
from caps.worker.host.supervisor.off_loop import LARGE_BYTES, run_off_loop

# How a large result of the code begins: a message whose first field says that it is one.
_RESULT = b"\xa4type\xa6result"
_MOST_TIMES_ITS_SIZE = 6  # the body, and text with wide characters and its encoded form
_NO_FIT = CallFailure(
    code=ProviderError.code, message="the answer cannot be sent; it does not fit the channel"
)


class LargeMessages(msgspec.Struct, frozen=True):
    """The bodies of messages that came in one read, at least one of them large."""

    bodies: list[bytes]


def split(connection: HostConnection, data: bytes) -> LargeMessages | list[FromWorker]:
    """The messages that `data` completes, decoded unless that could take long."""
    bodies = connection.split(data)
    if max(map(len, bodies), default=0) > LARGE_BYTES:
        return LargeMessages(bodies)
    return connection.accept_bodies(bodies)


class _Arrival(msgspec.Struct, frozen=True):
    """Messages from one read that the execution's task still has to process."""

    large: LargeMessages | None = None
    requests: Sequence[CapabilityRequestMessage] = ()
    batch: RequestBatch | None = None
    result: ResultMessage | None = None
    unsent: bool = False
    """Whether there are encoded answers that the channel had no room for."""


class _StreamItems(ItemSink):
    """The items of one request on their way to the worker, one at a time.

    The worker asks for each one, so a slow reader holds the provider, and the host holds one item.
    """

    def __init__(self, send: Callable[[msgspec.Raw], Awaitable[None]]) -> None:
        self._send = send
        self._asked: anyio.Event | None = None  # set by the next message about this stream
        self._on_stop: Callable[[], None] | None = None
        self._is_stopped = False

    async def send(self, item: msgspec.Raw) -> None:
        self._asked = anyio.Event()
        await self._send(item)
        await self.wait_asked()

    async def wait_asked(self) -> None:
        """Wait until the worker takes a message of this stream: it has asked, or was sent none."""
        if self._asked is not None:
            await self._asked.wait()

    def on_stop(self, callback: Callable[[], None]) -> None:
        self._on_stop = callback
        if self._is_stopped:
            callback()

    def receive(self, message: StreamNextMessage) -> None:
        if message.stop:  # first, so that the provider is not asked for one more item
            self._is_stopped = True
            if self._on_stop is not None:
                self._on_stop()
        if self._asked is not None:
            self._asked.set()


class RequestServer:
    """Serves one execution on one channel. Runs in its task and in the event loop's callback."""

    def __init__(
        self,
        transport: Transport,
        connection: HostConnection,
        calls: CallHandler,
        job: Job,
        budget: ByteBudget,
        handle: Callable[[FromWorker], ResultMessage | None],
        raise_lost: Callable[[], NoReturn],
        processor: SharedProcessor,
    ) -> None:
        """`handle` gets each message that needs no answer, and returns it if it is the result.
        `raise_lost` is called when the worker closed its end of the channel."""
        self._transport = transport
        self._connection = connection
        self._calls = calls
        self._owner = job.execution_id
        self._max_requests = job.max_requests
        self._budget = budget
        self._handle = handle
        self._raise_lost = raise_lost
        self._processor = processor
        self._requests = 0
        self._streams: dict[str, _StreamItems] = {}
        self._unsent_bytes = 0
        # What `_count_held` counted last; None if it must count again.
        self._counted_bytes: int | None = 0
        self._sent_some: anyio.Event | None = None
        # The batch that was begun and is not closed.
        self._in_flight: RequestBatch | None = None

    async def serve(
        self, messages: Sequence[FromWorker] | LargeMessages, group: TaskGroup
    ) -> ResultMessage:
        """Answer `messages` and all that follow, until the result. Calls that wait for their
        providers run in `group`, which the caller cancels."""
        try:
            arrival = self._begin(messages)
            while True:
                large = arrival.large
                if large is not None:
                    arrival = self._begin_batch(await self._decode(large))
                await self._answer(arrival, group)
                if arrival.result is not None:
                    return arrival.result
                await self._wait_for_room()
                if large is not None and large.bodies:
                    arrival = _Arrival(large=large)
                else:
                    arrival = await self._receive_next()
        finally:
            if self._in_flight is not None:  # it was begun and nothing completed it
                await self._abandon_batch(self._in_flight)

    async def _abandon_batch(self, batch: RequestBatch) -> None:
        try:
            with anyio.CancelScope(shield=True):
                await batch.abandon()
        finally:
            self._close_batch(batch)

    async def _receive_next(self) -> _Arrival:
        try:
            return await self._transport.receive_until(self._answer_inline)
        except ChannelClosedError:
            self._raise_lost()

    async def _decode(self, large: LargeMessages) -> list[FromWorker]:
        """The first messages, at least one. The others wait until there is room for them."""
        found: list[FromWorker] = []
        while large.bodies:
            size = len(large.bodies[0])
            most = _MOST_TIMES_ITS_SIZE * size + self._connection.most_item_bytes(size)
            # The result of the code never waits: the calls in flight end with it.
            waits = not large.bodies[0].startswith(_RESULT, 1)
            with self._budget.decoding(most) as room:
                decoded = await self._decode_first(large, room - size if waits else math.inf)
            if decoded.message is None and decoded.error is None:
                if found:  # which may have to be answered before there is room
                    break
                await self._budget.wait_for_request(decoded.held_bytes + size)
                with self._budget.decoding(decoded.held_bytes + size):
                    decoded = await self._decode_first(large, math.inf)
            found += self._connection.accept([decoded])
            self._count_held()
        return found

    async def _decode_first(self, large: LargeMessages, room: float) -> Decoded[FromWorker]:
        size = len(large.bodies[0])
        return await run_off_loop(self._owner, size, self._decode_and_hash, large, room)

    def _decode_and_hash(self, large: LargeMessages, room: float) -> Decoded[FromWorker]:
        """Runs in a thread. Takes the body away, so that it is not held longer than needed."""
        decoded = self._connection.decode(large.bodies[0], room)
        if decoded.message is not None or decoded.error is not None:
            del large.bodies[0]
        if type(decoded.message) is CapabilityRequestMessage and decoded.error is None:
            decoded = replace(decoded, message=self._calls.prepare(decoded.message))
        return decoded

    def _count_held(self) -> None:
        connection = self._connection
        in_flight = connection.bytes_in_flight + self._unsent_bytes
        self._counted_bytes = in_flight
        self._budget.hold_requests(in_flight, reading=connection.bytes_pending)

    def _begin(self, messages: Sequence[FromWorker] | LargeMessages) -> _Arrival:
        if isinstance(messages, LargeMessages):
            return _Arrival(large=messages)
        return self._begin_batch(messages)

    def _begin_batch(self, messages: Sequence[FromWorker]) -> _Arrival:
        """Handle the messages that need no answer, and begin a batch with the others."""
        result: ResultMessage | None = None
        requests: list[CapabilityRequestMessage] = []
        for message in messages:
            if type(message) is CapabilityRequestMessage:
                self._count_request()
                requests.append(message)
            elif type(message) is StreamNextMessage:
                stream = self._streams.get(message.request_id)
                if stream is not None:  # else its end and this message have crossed
                    stream.receive(message)
            else:
                result = self._handle(message) or result
        self._in_flight = self._calls.begin_batch(requests) if requests else None
        return _Arrival(None, requests, self._in_flight, result)

    def _count_request(self) -> None:
        # Calls over the policy's limit are refused; a worker that goes on anyway is flooding.
        self._requests += 1
        self._budget.keep(DECISION_BYTES)
        if self._requests > self._max_requests:
            raise ProtocolError(
                f"more than {self._max_requests} requests, refused ones included",
                violation="flood",
            )

    def _answer_inline(self, data: bytes) -> _Arrival | None:
        """Process `data`. Returns what the task has to continue with, None if nothing is left.

        Runs in the event loop's callback, in no task.
        """
        if not data:
            self._raise_lost()
        only = self._connection.take_one(data)
        if type(only) is CapabilityRequestMessage:  # the hot path: nothing else has come
            self._count_request()
            answer = self._calls.answer_one(only, self._keep)
            if answer is not None:
                if not self._requests % CALLS_PER_REPORT:
                    self._processor.report()
                return self._send_answer(only, answer)
            assert self._in_flight is not None  # `keep` was called
            return self._step_inline((only,), self._in_flight)
        messages = split(self._connection, data) if only is None else [only]
        if isinstance(messages, LargeMessages):
            return _Arrival(messages)
        arrival = self._begin_batch(messages)
        self._counted_bytes = None  # the bytes of the unfinished frame changed
        if arrival.batch is not None:
            return self._step_inline(arrival.requests, arrival.batch, arrival.result)
        if arrival.result is None:
            self._count_held()
            return None
        return _Arrival(result=arrival.result)

    def _keep(self, batch: RequestBatch) -> None:
        self._in_flight = batch

    def _send_answer(
        self, request: CapabilityRequestMessage, answer: CallResponse
    ) -> _Arrival | None:
        is_sent = self._send_now(self._encode_or_fail(request, answer))
        if self._connection.bytes_in_flight + self._unsent_bytes != self._counted_bytes:
            self._count_held()
        return None if is_sent else _Arrival(unsent=True)

    def _step_inline(
        self,
        requests: Sequence[CapabilityRequestMessage],
        batch: RequestBatch,
        result: ResultMessage | None = None,
    ) -> _Arrival | None:
        answers = batch.answers if batch.step_sync() else None
        if answers is None or None in answers:
            return _Arrival(None, requests, batch, result)
        unsent = not self._send_now(self._encode_all(requests, answers))
        self._in_flight = None
        batch.close()
        if self._connection.bytes_in_flight + self._unsent_bytes != self._counted_bytes:
            self._count_held()
        return _Arrival(result=result, unsent=unsent) if result is not None or unsent else None

    async def _answer(self, arrival: _Arrival, group: TaskGroup) -> None:
        """Continue with an arrival where `_answer_inline` stopped."""
        requests, batch = arrival.requests, arrival.batch
        if batch is None:
            if arrival.unsent:
                await self._send(b"")
            return
        # Not within the `try`: if this raises, the batch stays in flight, and `serve` abandons it.
        is_done = batch.step_sync()
        self._count_held()
        try:
            if not is_done:
                await batch.drive(lambda ready: self._send(self._encode_all(requests, ready)))
            answers = batch.answers
            for request, answer in zip(requests, answers, strict=True):
                if answer is None:
                    group.start_soon(self._answer_in_task, request, batch.answered)
            data = self._encode_all(requests, answers)
        finally:
            self._close_batch(batch)
        await self._send(data)

    async def _answer_in_task(
        self, request: CapabilityRequestMessage, answered: frozenset[str]
    ) -> None:
        async def send_item(item: msgspec.Raw) -> None:
            message = StreamItemMessage(
                request_id=request.request_id, item=item, **self._connection.stamp()
            )
            if not self._send_now(self._connection.send(message)):
                await self._send(b"")  # the transport has it, whatever ends this call

        items = self._streams[request.request_id] = _StreamItems(send_item)
        try:
            with self._budget.share():
                answer = await self._calls.answer(request, answered, sink=items)
                await items.wait_asked()
                if self._connection.state is State.FAILED:
                    return  # the execution is ending, with the violation as its reason
                data = self._encode_or_fail(request, answer)
                del answer  # it is a copy of the data
                await self._send(data)
        finally:
            del self._streams[request.request_id]

    def _close_batch(self, batch: RequestBatch) -> None:
        self._in_flight = None
        batch.close()

    # -- sending answers ------------------------------------------------------------------------

    def _encode_all(
        self, requests: Sequence[CapabilityRequestMessage], answers: Sequence[CallResponse | None]
    ) -> bytes:
        """Encode the answers that are there and not sent yet."""
        if len(requests) == 1 and answers[0] is not None and answers[0] is not SENT:
            return self._encode_or_fail(requests[0], answers[0])  # nearly always
        pairs = zip(requests, answers, strict=True)
        return b"".join(
            [
                self._encode_or_fail(request, answer)
                for request, answer in pairs
                if answer is not None and answer is not SENT
            ]
        )

    def _encode_or_fail(self, request: CapabilityRequestMessage, answer: CallResponse) -> bytes:
        respond = self._connection.respond
        try:
            return respond(request.request_id, answer.result, answer.failure)
        except UNSENDABLE:
            # A provider's error details may be any object; the call fails, not the execution.
            return respond(request.request_id, None, _NO_FIT)

    def _send_now(self, data: bytes) -> bool:
        """Send without waiting. Returns whether all was sent; the rest precedes the next send."""
        try:
            return self._transport.send_now(data)
        except ChannelClosedError:
            return True  # the reading side finds out how the worker ended, with a better error

    async def _send(self, data: bytes) -> None:
        """Send what is still unsent, then `data`, which counts as buffered until it is sent."""
        self._unsent_bytes += len(data)
        self._count_held()
        try:
            await self._transport.send(data)
        except ChannelClosedError:
            return  # as in `_send_now`
        finally:
            self._unsent_bytes -= len(data)
            self._count_held()
            if self._sent_some is not None:
                self._sent_some.set()

    async def _wait_for_room(self) -> None:
        # The worker reads while it cannot write, so the two sides never wait for each other.
        while not self._connection.has_room(self._unsent_bytes):
            self._sent_some = anyio.Event()
            await self._sent_some.wait()
