"""The requests of one execution, and the way of their answers.

What arrives is looked at as it arrives, in the event loop's own step. Calls that wait for nothing
are answered there, and the task of the execution sleeps on; it is woken for what has to wait (for
evidence, for room in the channel) and for the result. A call that waits for its provider has a task
of its own.

What the host holds for a worker is bounded: one that asks for much and takes few answers is not
read until it has taken them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, NoReturn

import anyio
from anyio.abc import TaskGroup

from caps.protocol.connection import HostConnection, State
from caps.protocol.errors import ProtocolError, ProviderError
from caps.protocol.messages import (
    CallFailure,
    CapabilityRequestMessage,
    CapabilityResponseMessage,
    FromWorker,
    ResultMessage,
)
from caps.protocol.transport import ChannelClosedError, Transport
from caps.worker.host.supervisor.interface import Answer, CallHandler, TakenUp

# What encoding raises for an answer that the channel has no room for.
_UNSENDABLE = (ProtocolError, TypeError, ValueError, OverflowError, RecursionError)
_NO_FIT = CallFailure(
    code=ProviderError.code, message="the answer cannot be sent; it does not fit the channel"
)


class _Arrival(NamedTuple):
    """Messages that came together, as far as the task of the execution has to do with them."""

    requests: Sequence[CapabilityRequestMessage] = ()
    taken_up: TakenUp | None = None
    result: ResultMessage | None = None
    unsent: bool = False
    """Answers were given that the channel had no room for."""


class Answering:
    """Serves one execution on one channel. Used by its task, and by the event loop for it."""

    def __init__(
        self,
        transport: Transport,
        connection: HostConnection,
        calls: CallHandler,
        most_requests: int,
        take: Callable[[FromWorker], ResultMessage | None],
        hung_up: Callable[[], NoReturn],
    ) -> None:
        """`take` gets what asks for no answer, and returns the result, once it is that; `hung_up`
        says what it means that the worker closed its end."""
        self._transport = transport
        self._connection = connection
        self._calls = calls
        self._most_requests = most_requests
        self._take = take
        self._hung_up = hung_up
        self._requests = 0
        self._untaken_bytes = 0
        self._taken: anyio.Event | None = None
        # What was taken up and is not concluded.
        self._under_way: TakenUp | None = None

    async def serve(self, messages: Sequence[FromWorker], group: TaskGroup) -> ResultMessage:
        """Answer `messages` and what follows them, until the result. Calls that wait for their
        providers go on in `group`, which is the caller's to cancel."""
        try:
            arrival = self._arrived(messages)
            while True:
                await self._answer(arrival, group)
                if arrival.result is not None:
                    return arrival.result
                await self._until_room()
                arrival = await self._next_arrival()
        finally:
            if self._under_way is not None:  # nobody has gone on with it
                await self._give_up(self._under_way)

    async def _give_up(self, taken_up: TakenUp) -> None:
        try:
            with anyio.CancelScope(shield=True):
                await taken_up.give_up()
        finally:
            self._conclude(taken_up)

    async def _next_arrival(self) -> _Arrival:
        try:
            return await self._transport.receive_until(self._answer_now)
        except ChannelClosedError:
            self._hung_up()

    def _arrived(self, messages: Sequence[FromWorker]) -> _Arrival:
        """Act on what asks for no answer, and take up what does."""
        result: ResultMessage | None = None
        requests: list[CapabilityRequestMessage] = []
        for message in messages:
            if type(message) is CapabilityRequestMessage:
                self._count_request()
                requests.append(message)
            else:
                result = self._take(message) or result
        self._under_way = self._calls.take_up(requests) if requests else None
        return _Arrival(requests, self._under_way, result)

    def _count_request(self) -> None:
        # Refusals answer what is over the policy's limit; who goes on all the same is flooding.
        self._requests += 1
        if self._requests > self._most_requests:
            raise ProtocolError(
                f"more than {self._most_requests} requests, refused ones included",
                violation="flood",
            )

    def _answer_now(self, data: bytes) -> _Arrival | None:
        """What comes of `data` that needs the task; None if nothing does. Runs in no task."""
        if not data:
            self._hung_up()
        arrival = self._arrived(self._connection.receive(data))
        taken_up = arrival.taken_up
        unsent = False
        if taken_up is not None:
            answers = taken_up.answers if taken_up.advance() else None
            if answers is None or None in answers:
                return arrival
            unsent = not self._send_now(self._encoded_all(arrival.requests, answers))
            self._conclude(taken_up)
        if arrival.result is None and not unsent:
            return None
        return _Arrival(result=arrival.result, unsent=unsent)

    async def _answer(self, arrival: _Arrival, group: TaskGroup) -> None:
        """Go on with what arrived where `_answer_now` left it."""
        requests, taken_up = arrival.requests, arrival.taken_up
        if taken_up is None:
            if arrival.unsent:
                await self._send(b"")
            return
        # Not within the `try`: what raises here stays under way, and `serve` gives it up.
        is_done = taken_up.advance()
        try:
            if not is_done:
                await taken_up.finish()
            answers = taken_up.answers
            for request, answer in zip(requests, answers, strict=True):
                if answer is None:
                    group.start_soon(self._answer_alone, request)
            data = self._encoded_all(requests, answers)
        finally:
            self._conclude(taken_up)
        await self._send(data)

    async def _answer_alone(self, request: CapabilityRequestMessage) -> None:
        answer = await self._calls.handle(request)
        if self._connection.state is State.FAILED:
            return  # the execution ends now, with the violation as its reason
        await self._send(self._encoded_or_failure(request, answer))

    def _conclude(self, taken_up: TakenUp) -> None:
        self._under_way = None
        taken_up.conclude()

    # -- answers on their way -------------------------------------------------------------------

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

    def _encoded_or_failure(self, request: CapabilityRequestMessage, answer: Answer) -> bytes:
        try:
            return self._encoded(request, answer)
        except _UNSENDABLE:
            # A provider's own error details may be anything; one call fails, not the execution.
            return self._encoded(request, Answer(failure=_NO_FIT))

    def _encoded(self, request: CapabilityRequestMessage, answer: Answer) -> bytes:
        return self._connection.send(
            CapabilityResponseMessage(
                request_id=request.request_id,
                result=answer.result,
                failure=answer.failure,
                **self._connection.stamp(),
            )
        )

    def _send_now(self, data: bytes) -> bool:
        """Whether all of it is sent; the rest goes before what is sent next."""
        try:
            return self._transport.send_now(data)
        except ChannelClosedError:
            return True  # the reading side learns how the worker ended, and says it better

    async def _send(self, data: bytes) -> None:
        """Send what is left from before, and `data`; both count as held until they are gone."""
        self._untaken_bytes += len(data)
        try:
            await self._transport.send(data)
        except ChannelClosedError:
            return  # as above
        finally:
            self._untaken_bytes -= len(data)
            if self._taken is not None:
                self._taken.set()

    async def _until_room(self) -> None:
        # The worker reads while it cannot write, so both sides never wait for each other.
        while not self._connection.has_room(self._untaken_bytes):
            self._taken = anyio.Event()
            await self._taken.wait()
