"""(5) The state machine of one channel: bytes in, messages out. Other steps are errors.

Both sides run it; it does no IO. A violation by the peer raises `ProtocolError` and leaves the
connection in FAILED for good: there is no resynchronising with a peer that broke the protocol.

What it enforces in addition to the table:

- a message travels only in its own direction (each side decodes only the other's union);
- after the manifest, the `id` of every message from the worker is `<execution>:<n>` with n counting
  up from 1: a replayed, reordered or foreign frame breaks the count;
- what the worker sends is checked before it is decoded, and its payloads and error details are
  JSON-like data;
- a `request_id` is used once; at most `max_in_flight` requests wait for an answer, and beyond
  `max_bytes_in_flight` the host reads no more until some are answered (`has_room`);
- a response answers a request that is waiting, and so does an item; after an item, the request
  waits again once the worker has asked for the next one, and not before;
- a worker stops a stream at most once, and only what it requested;
- a result says that the code never ran if and only if its start was not announced;
- a start after a result is for sessions only, and drops what the run before it still waited for:
  neither end accepts an answer to a request of an earlier run once the next one has begun.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

import msgspec
from msgspec.structs import replace

from caps.protocol.channel_states import SESSION_TRANSITIONS, TRANSITIONS, State
from caps.protocol.errors import ProtocolError
from caps.protocol.framing import (
    DEFAULT_LIMITS,
    HARMLESS_BYTES,
    ITEM_BYTES,
    LENGTH,
    FrameLimits,
    FrameReader,
    check_json_like,
    check_shape,
    frame,
    is_flat,
    pack,
)
from caps.protocol.messages import (
    CallFailure,
    CapabilityRequestMessage,
    CapabilityResponseMessage,
    CompileMessage,
    FromHost,
    FromWorker,
    ManifestMessage,
    Message,
    ReadyMessage,
    ResultMessage,
    StartedMessage,
    StartMessage,
    StreamItemMessage,
    StreamNextMessage,
)

__all__ = [
    "SESSION_TRANSITIONS",
    "TRANSITIONS",
    "UNSENDABLE",
    "Decoded",
    "HostConnection",
    "State",
    "WorkerConnection",
]

_MAX_FIELDS = 1024
# What the host holds for a request in addition to its payload: the message and its audit records,
# which have a digest for each field of the payload, up to a number.
_REQUEST_BYTES = 2048
_FIELD_BYTES = 384
_MAX_RECORDED_FIELDS = 65
_COMPILER = "compiler"
# Looking a member up in its class takes longer than a global name.
_RUNNING = State.RUNNING
_STARTING = State.STARTING
# What `send` raises for a message that cannot be encoded or is too large.
UNSENDABLE = (ProtocolError, TypeError, ValueError, OverflowError, RecursionError)
# What a decoder of msgspec raises for untrusted bytes.
_UNDECODABLE = (msgspec.DecodeError, RecursionError, UnicodeDecodeError, ValueError)

Incoming = TypeVar("Incoming", bound=Message)


class Decoded(msgspec.Struct, Generic[Incoming], frozen=True):
    """A message, or why there is none; both if only its payload breaks a rule.

    Neither if there was no room for it: `held_bytes` says how much it needs.
    """

    message: Incoming | None
    error: ProtocolError | None = None
    held_bytes: int = 0
    """An upper estimate of the memory that the message takes."""


class _Connection(Generic[Incoming]):
    """The part that both ends share."""

    _decoder: msgspec.msgpack.Decoder[Any]

    def __init__(self, limits: FrameLimits, sent: FrameLimits, received: FrameLimits) -> None:
        """`limits` of the channel, and of the frames in each direction."""
        self.state = State.BOOTING
        self._transitions = TRANSITIONS
        self._limits = limits
        self._sent_limits = sent
        self._reader = FrameReader(received)
        self._max_received_bytes = received.max_frame_bytes
        self._pack: Callable[[object], bytes] = msgspec.msgpack.Encoder().encode
        self._waiting: set[str] = set()
        # Streams whose next item was not asked for yet, and those that the worker has stopped.
        self._paused: set[str] = set()
        self._stopped: set[str] = set()
        self._sent = 0
        # Set by the manifest; before it, a worker may only send that it is ready.
        self._execution_id = ""

    @property
    def in_flight(self) -> int:
        """The number of requests that wait for an answer."""
        return len(self._waiting) + len(self._paused)

    def receive(self, data: bytes) -> list[Incoming]:
        """The messages that `data` completes, in order.

        Raises ProtocolError at the first violation, and in every call after it. Messages that came
        before it in the same bytes are dropped: they came from a peer that broke the protocol.
        """
        return self.accept(map(self.decode, self.split(data)))

    def split(self, data: bytes) -> list[bytes]:
        """The first step of `receive`: the bodies of the messages that `data` completes."""
        if self.state is State.FAILED:
            raise ProtocolError("the peer broke the protocol before", violation="failed_before")
        try:
            return self._reader.feed(data)
        except ProtocolError:
            self.state = State.FAILED
            raise

    def decode(self, body: bytes, room: float = math.inf) -> Decoded[Incoming]:
        """The second step, for each body: changes nothing, so that a thread may take it.

        A message that takes more than `room` in memory is not decoded. Never raises: the third step
        raises what this one found, in its turn.
        """
        raise NotImplementedError

    def accept(self, bodies: Iterable[Decoded[Incoming]]) -> list[Incoming]:
        """The third step: the messages, each checked against the state of the channel."""
        try:
            return list(map(self._accept, bodies))
        except ProtocolError:
            self.state = State.FAILED
            raise

    # -- the fast path ---------------------------------------------------------------------------

    def take_one(self, data: bytes) -> Incoming | None:
        """The only message that `data` completes, if it is a whole frame and on the fast path.

        None, with no effect, for any other data: `receive` says whether something is wrong with it.
        """
        size = len(data) - LENGTH.size
        fits = not self._reader.buffer and 0 <= size <= self._max_received_bytes
        if not fits or LENGTH.unpack_from(data) != (size,):
            return None
        return self._accept_fast(data[LENGTH.size :])

    def accept_bodies(self, bodies: Iterable[bytes]) -> list[Incoming]:
        """`accept` of what `decode` returns for these bodies."""
        try:
            return [self._accept_fast(body) or self._accept(self.decode(body)) for body in bodies]
        except ProtocolError:
            self.state = State.FAILED
            raise

    def _accept_fast(self, body: bytes) -> Incoming | None:
        """The message of `body`, accepted, if it is of a frequent kind and breaks no rule.

        None, with no effect, for any other: the three steps of `receive` say what it is.
        """
        raise NotImplementedError

    def at_end(self) -> None:
        """Call this when the peer has closed. Raises ProtocolError if it did so within a frame."""
        if self._reader.pending:
            self.state = State.FAILED
            raise ProtocolError(
                f"the channel ended {self._reader.pending} bytes into a frame",
                violation="truncated_frame",
            )

    def _accept(self, decoded: Decoded[Incoming]) -> Incoming:
        message = decoded.message
        if message is None:
            assert decoded.error is not None
            raise decoded.error
        self._step(message)
        if decoded.error is not None:
            raise decoded.error
        self._check_incoming(message, decoded.held_bytes)
        return message

    def _step(self, message: Message) -> None:
        after = self._transitions.get((self.state, type(message)))
        if after is None:
            raise ProtocolError(
                f"a `{type(message).__name__}` while {self.state.value}", violation="out_of_turn"
            )
        if after is self.state:
            return
        self.state = after
        if type(message) is StartMessage:
            self._begin_run()
        elif type(message) is ManifestMessage:
            if message.session:
                self._transitions = SESSION_TRANSITIONS
            self._restart_count(message.execution_id)
        elif type(message) is CompileMessage:
            self._restart_count(_COMPILER)

    def _restart_count(self, name: str) -> None:
        """From now on, the ids of the worker's messages are `name:1`, `name:2` and so on."""
        self._execution_id = name

    def _begin_run(self) -> None:
        """A run begins: requests of an earlier run are not answered any more."""
        for requests in (self._waiting, self._paused, self._stopped):
            requests.clear()

    def _check_incoming(self, message: Incoming, held_bytes: int) -> None:
        raise NotImplementedError

    def _encode(self, message: Message) -> bytes:
        body = frame(self._pack(message), self._sent_limits)
        self._step(message)
        self._sent += 1  # after the checks, so that a refused message leaves no gap
        return body

    def _check_waiting(self, request_id: str) -> None:
        if request_id not in self._waiting:
            raise ProtocolError(
                f"an answer to `{request_id}`, which was not asked", violation="unasked_answer"
            )


def _bad_stream(message: StreamNextMessage) -> ProtocolError:
    wanted = "a stop" if message.stop else "an item"
    return ProtocolError(
        f"{wanted} of `{message.request_id}`, which is not a stream that waits for it",
        violation="unknown_stream",
    )


def _decoding_error(error: Exception) -> ProtocolError:
    if isinstance(error, msgspec.ValidationError):
        return ProtocolError(f"a malformed message: {error}", violation="malformed")
    return ProtocolError("the bytes are not a valid message", violation="garbage")


@functools.lru_cache(maxsize=8)
def _message_limits(limits: FrameLimits) -> FrameLimits:
    """The `limits` of a payload, with room for the fields of the message: they are items, too."""
    return replace(limits, max_items=limits.max_items + _MAX_FIELDS)


class HostConnection(_Connection[FromWorker]):
    """The host's end: sends `FromHost`, receives `FromWorker`."""

    _decoder = msgspec.msgpack.Decoder(FromWorker)

    def __init__(self, limits: FrameLimits = DEFAULT_LIMITS) -> None:
        super().__init__(limits, limits, limits.from_worker)
        self._message_limits = _message_limits(limits)
        self._received = 0
        self._code_ran = False
        self._request_ids: set[str] = set()
        self._request_bytes: dict[str, int] = {}
        self.bytes_in_flight = 0
        """An upper estimate of the memory of the requests that wait for an answer. Read only."""

    @property
    def bytes_pending(self) -> int:
        """The bytes of the frame that is being read."""
        return self._reader.pending

    def most_item_bytes(self, body_bytes: int) -> int:
        """The most memory that the items of a body of this size take in addition."""
        return min(body_bytes, self._message_limits.max_items) * ITEM_BYTES

    def has_room(self, answer_bytes: int) -> bool:
        """Whether more may be read, given the `answer_bytes` that the worker has not read yet.

        False only while at least one request or answer is in flight, so that waiting for it ends.
        """
        return self.bytes_in_flight + answer_bytes <= self._limits.max_bytes_in_flight

    def send(self, message: FromHost) -> bytes:
        """The bytes of `message`. Raises ProtocolError if it is out of turn or too large."""
        if type(message) is CapabilityResponseMessage or type(message) is StreamItemMessage:
            self._check_waiting(message.request_id)
            data = self._encode(message)
            self._waiting.remove(message.request_id)
            # A stream may stay open for long, and must not keep the host from reading meanwhile.
            self.bytes_in_flight -= self._request_bytes.pop(message.request_id, 0)
            if type(message) is StreamItemMessage:
                self._paused.add(message.request_id)
            return data
        return self._encode(message)

    def respond(self, request_id: str, result: object, failure: CallFailure | None) -> bytes:
        """`send` of the response to one request, with a fast path while the code runs."""
        message = CapabilityResponseMessage(
            id=f"host:{self._sent + 1}",  # as `stamp`, which makes a dictionary of it
            timestamp=time.time(),
            request_id=request_id,
            result=result,
            failure=failure,
        )
        if self.state is not _RUNNING or request_id not in self._waiting:
            return self.send(message)
        data = frame(self._pack(message), self._sent_limits)
        self._sent += 1
        self._waiting.remove(request_id)
        self.bytes_in_flight -= self._request_bytes.pop(request_id, 0)
        return data

    def _accept_fast(self, body: bytes) -> FromWorker | None:
        """A small request while the code runs, its start, or its value."""
        state = self.state
        if len(body) > HARMLESS_BYTES or (state is not _RUNNING and state is not _STARTING):
            return None
        try:
            message = self._decoder.decode(body)
        except _UNDECODABLE:
            return None
        if type(message) is not CapabilityRequestMessage:
            return message if self._accept_turn(message) else None
        if (
            state is not _RUNNING
            or message.id != f"{self._execution_id}:{self._received + 1}"
            or message.request_id in self._request_ids
            or len(self._waiting) + len(self._paused) >= self._limits.max_in_flight
            or not is_flat(message.payload, self._limits)
        ):
            return None
        self._received += 1
        self._add_request(message, len(body))
        return message

    def _accept_turn(self, message: FromWorker) -> bool:
        """Whether it is the start or the value of a run, which is then accepted."""
        if message.id != f"{self._execution_id}:{self._received + 1}":
            return False
        if type(message) is StartedMessage and self.state is _STARTING:
            self._code_ran = True
        elif type(message) is ResultMessage and self.state is _RUNNING:
            if message.error is not None or message.never_ran or not self._code_ran:
                return False
        else:
            return False
        self.state = self._transitions[self.state, type(message)]
        self._received += 1
        return True

    def _begin_run(self) -> None:
        super()._begin_run()
        # Every run has its own evidence, in which a request id is used once. Requests of the run
        # before that are still open are not answered any more.
        self._request_ids.clear()
        self._request_bytes.clear()
        self.bytes_in_flight = 0
        self._code_ran = False

    def stamp(self) -> dict[str, Any]:
        """The `id` and `timestamp` of the next message from this end."""
        return {"id": f"host:{self._sent + 1}", "timestamp": time.time()}

    def decode(self, body: bytes, room: float = math.inf) -> Decoded[FromWorker]:
        message: FromWorker | None = None
        held = 0
        try:
            held = check_shape(body, limits=self._message_limits)
            if held > room:
                return Decoded(None, None, held)
            message = self._decoder.decode(body)
            if type(message) is CapabilityRequestMessage:
                check_json_like(message.payload, self._limits)
            elif type(message) is ResultMessage and message.error is not None:
                check_json_like(message.error.details, self._limits)
        except ProtocolError as error:
            return Decoded(message, error)
        except _UNDECODABLE as error:
            return Decoded(None, _decoding_error(error))
        return Decoded(message, None, held)

    def _check_incoming(self, message: FromWorker, held_bytes: int) -> None:
        if type(message) is ReadyMessage:
            return
        self._received += 1
        expected = f"{self._execution_id}:{self._received}"
        if message.id != expected:
            raise ProtocolError(
                f"message id `{message.id}`, expected `{expected}`",
                violation="forged_id",
            )
        if type(message) is CapabilityRequestMessage:
            self._check_request(message, held_bytes)
        elif type(message) is StreamNextMessage:
            self._check_next(message)
        elif type(message) is StartedMessage:
            self._code_ran = True
        elif type(message) is ResultMessage:
            self._check_result(message)

    def _check_result(self, message: ResultMessage) -> None:
        if message.never_ran is self._code_ran:
            raise ProtocolError(
                "the result contradicts earlier messages about whether the code ran",
                violation="contradiction",
            )

    def _check_request(self, message: CapabilityRequestMessage, held_bytes: int) -> None:
        if message.request_id in self._request_ids:
            raise ProtocolError(
                f"request `{message.request_id}` was sent before", violation="replayed_request"
            )
        if self.in_flight >= self._limits.max_in_flight:
            raise ProtocolError(
                f"more than {self._limits.max_in_flight} requests in flight",
                violation="too_many_in_flight",
            )
        self._add_request(message, held_bytes)

    def _add_request(self, message: CapabilityRequestMessage, held_bytes: int) -> None:
        request_id = message.request_id
        self._request_ids.add(request_id)
        self._waiting.add(request_id)
        fields = min(len(message.payload), _MAX_RECORDED_FIELDS)
        held = held_bytes + _REQUEST_BYTES + _FIELD_BYTES * fields
        self._request_bytes[request_id] = held
        self.bytes_in_flight += held

    def _check_next(self, message: StreamNextMessage) -> None:
        """A stop may cross an item, or the response that ends the stream; so it is known by id."""
        request_id = message.request_id
        if message.stop:
            if request_id not in self._request_ids or request_id in self._stopped:
                raise _bad_stream(message)
            self._stopped.add(request_id)
        elif request_id not in self._paused:
            raise _bad_stream(message)
        if request_id in self._paused:
            self._paused.remove(request_id)
            self._waiting.add(request_id)


class WorkerConnection(_Connection[FromHost]):
    """The worker's end: sends `FromWorker`, receives `FromHost`."""

    _decoder = msgspec.msgpack.Decoder(FromHost)

    def __init__(self, limits: FrameLimits = DEFAULT_LIMITS) -> None:
        super().__init__(limits, limits.from_worker, limits)
        self._pack = pack
        self._execution_id = "spare"

    def send(self, message: FromWorker) -> bytes:
        """The bytes of `message`. Raises ProtocolError if it is out of turn or too large."""
        if type(message) is CapabilityRequestMessage:
            check_json_like(message.payload, self._limits)
            data = self._encode(message)
            self._waiting.add(message.request_id)
            return data
        if type(message) is StreamNextMessage:
            return self._send_next(message)
        return self._encode(message)

    def receive(self, data: bytes) -> list[FromHost]:
        """The same with the fast path: what the host sends is decoded here, whatever its size."""
        return self.accept_bodies(self.split(data))

    def request(self, request_id: str, fields: dict[str, Any]) -> bytes:
        """`send` of one request, with a fast path while the code runs."""
        message = CapabilityRequestMessage(
            id=f"{self._execution_id}:{self._sent + 1}",  # as `stamp`, without its dictionary
            timestamp=time.time(),
            request_id=request_id,
            capability=fields["capability"],
            payload=fields["payload"],
            idempotency_key=fields.get("idempotency_key"),
            timeout_ms=fields.get("timeout_ms"),
        )
        if self.state is not State.RUNNING:
            return self.send(message)
        check_json_like(message.payload, self._limits)
        data = frame(self._pack(message), self._sent_limits)
        self._sent += 1
        self._waiting.add(request_id)
        return data

    def _send_next(self, message: StreamNextMessage) -> bytes:
        request_id = message.request_id
        if request_id not in self._paused and not (message.stop and request_id in self._waiting):
            raise _bad_stream(message)
        data = self._encode(message)
        self._paused.discard(request_id)
        self._waiting.add(request_id)
        if message.stop:
            self._stopped.add(request_id)
        return data

    def decode(self, body: bytes, room: float = math.inf) -> Decoded[FromHost]:  # noqa: ARG002
        try:
            return Decoded(self._decoder.decode(body))
        except _UNDECODABLE as error:
            return Decoded(None, _decoding_error(error))

    def _accept_fast(self, body: bytes) -> FromHost | None:
        """The answer to a request while the code runs."""
        if self.state is not State.RUNNING:
            return None
        try:
            message = self._decoder.decode(body)
        except _UNDECODABLE:
            return None
        if type(message) is not CapabilityResponseMessage:
            return None
        if message.request_id not in self._waiting or self._stopped:
            return None
        self._waiting.remove(message.request_id)
        return message

    def stamp(self) -> dict[str, Any]:
        """The `id` and `timestamp` of the next message from this end."""
        return {"id": f"{self._execution_id}:{self._sent + 1}", "timestamp": time.time()}

    def _restart_count(self, name: str) -> None:
        super()._restart_count(name)
        self._sent = 0

    def _check_incoming(
        self,
        message: FromHost,
        held_bytes: int,  # noqa: ARG002 - only the host counts them
    ) -> None:
        if type(message) is CapabilityResponseMessage:
            self._check_waiting(message.request_id)
            self._waiting.remove(message.request_id)
            self._stopped.discard(message.request_id)
        elif type(message) is StreamItemMessage:
            self._check_waiting(message.request_id)
            if message.request_id not in self._stopped:  # else the two crossed: a response follows
                self._waiting.remove(message.request_id)
                self._paused.add(message.request_id)
