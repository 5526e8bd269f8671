"""(5) One channel's life as a table: bytes in, messages out, and a step not in it is an error.

Both sides run this machine; it does no IO. A violation by the peer raises `ProtocolError` once and
leaves the connection in FAILED for good: there is no resynchronising with a peer that lied.

What it holds, beside the table:

- a message travels only in its own direction (each side decodes only the other's union);
- after the manifest, the `id` of every message from the worker is `<execution>:<n>` with n counting
  up from 1: a replayed, reordered or foreign frame breaks the count;
- what the worker sends is looked over before it is decoded, and its payloads and error details
  are JSON-like data;
- a `request_id` is used once; at most `max_in_flight` requests wait for their answer, and beyond
  `max_bytes_in_flight` the host reads no more until some have theirs (`has_room`);
- a response answers a request that is waiting;
- a result says that the code never ran if, and only if, its start was not announced;
- a start after a result is for sessions alone, and nothing of the run before it waits any more:
  neither end takes an answer to a request of an earlier run once the next one has begun.
"""

from __future__ import annotations

import enum
import functools
import time
from typing import Any, Generic, TypeVar

import msgspec
from msgspec.structs import replace

from caps.protocol.errors import ProtocolError
from caps.protocol.framing import (
    DEFAULT_LIMITS,
    FrameLimits,
    FrameReader,
    check_json_like,
    check_shape,
    frame,
)
from caps.protocol.messages import (
    CancelMessage,
    CapabilityRequestMessage,
    CapabilityResponseMessage,
    CompiledMessage,
    CompileMessage,
    FromHost,
    FromWorker,
    ManifestMessage,
    Message,
    OutputMessage,
    ReadyMessage,
    ResultMessage,
    StartedMessage,
    StartMessage,
)


class State(enum.Enum):
    BOOTING = "booting"  # the worker shuts itself in
    READY = "ready"  # it waits for a manifest
    COMPILING = "compiling"  # it compiles, and will not run anything
    PREPARED = "prepared"  # it has built `caps`
    STARTING = "starting"  # it has the code and compiles it
    RUNNING = "running"  # user code runs
    DONE = "done"  # the result is out
    FAILED = "failed"  # the peer broke the protocol

    # There is one of each, and the table below is asked for every message.
    __hash__ = object.__hash__


TRANSITIONS: dict[tuple[State, type[Message]], State] = {
    (State.BOOTING, ReadyMessage): State.READY,
    (State.READY, ManifestMessage): State.PREPARED,
    # A worker is a compiler or runs code, and is never asked for the other: what it compiled is
    # taken only from one that has run nothing.
    (State.READY, CompileMessage): State.COMPILING,
    (State.COMPILING, CompiledMessage): State.DONE,
    (State.PREPARED, StartMessage): State.STARTING,
    (State.STARTING, StartedMessage): State.RUNNING,
    (State.STARTING, ResultMessage): State.DONE,  # it did not compile
    (State.STARTING, CancelMessage): State.STARTING,
    (State.RUNNING, CapabilityRequestMessage): State.RUNNING,
    (State.RUNNING, CapabilityResponseMessage): State.RUNNING,
    (State.RUNNING, OutputMessage): State.RUNNING,
    (State.RUNNING, CancelMessage): State.RUNNING,
    (State.RUNNING, ResultMessage): State.DONE,
    # An answer or a cancel may cross the result on its way.
    (State.DONE, CapabilityResponseMessage): State.DONE,
    (State.DONE, CancelMessage): State.DONE,
}

# A session's channel goes on: its worker runs one cell after another, in the same user space.
SESSION_TRANSITIONS: dict[tuple[State, type[Message]], State] = {
    **TRANSITIONS,
    (State.DONE, StartMessage): State.STARTING,
}

_MOST_FIELDS = 1024
_COMPILER = "compiler"

Incoming = TypeVar("Incoming", bound=Message)


class _Connection(Generic[Incoming]):
    """What both ends share."""

    _decoder: msgspec.msgpack.Decoder[Any]

    def __init__(self, limits: FrameLimits = DEFAULT_LIMITS) -> None:
        self.state = State.BOOTING
        self._transitions = TRANSITIONS
        self._limits = limits
        self._reader = FrameReader(limits)
        self._encoder = msgspec.msgpack.Encoder()
        self._waiting: set[str] = set()
        self._sent = 0
        # Known once there is a manifest; before that, a worker may only say that it is ready.
        self._execution_id = ""

    @property
    def in_flight(self) -> int:
        """How many requests wait for their answer."""
        return len(self._waiting)

    def receive(self, data: bytes) -> list[Incoming]:
        """The messages that `data` completes, in order.

        Raises ProtocolError at the first violation, and always after it. Messages that came before
        it in the same bytes are dropped: nothing that a lying peer said last is acted on.
        """
        if self.state is State.FAILED:
            raise ProtocolError("the peer broke the protocol before", violation="failed_before")
        try:
            return [self._accept(body) for body in self._reader.feed(data)]
        except ProtocolError:
            self.state = State.FAILED
            raise

    def at_end(self) -> None:
        """Tell that the peer closed; a ProtocolError if it did so in mid-frame."""
        if self._reader.pending:
            self.state = State.FAILED
            raise ProtocolError(
                f"the channel ended {self._reader.pending} bytes into a frame",
                violation="truncated_frame",
            )

    def _accept(self, body: bytes) -> Incoming:
        try:
            message: Incoming = self._decoder.decode(body)
        except msgspec.ValidationError as error:
            raise ProtocolError(f"a malformed message: {error}", violation="malformed") from None
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError, ValueError):
            raise ProtocolError("bytes that are no message", violation="garbage") from None
        self._step(message)
        self._check_incoming(message)
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
            self._count_under(message.execution_id)
        elif type(message) is CompileMessage:
            self._count_under(_COMPILER)

    def _count_under(self, name: str) -> None:
        """From now on the worker's messages are counted under `name`."""
        self._execution_id = name

    def _begin_run(self) -> None:
        """A run begins: what an earlier one asked is answered no more."""
        self._waiting.clear()

    def _check_incoming(self, message: Incoming) -> None:
        raise NotImplementedError

    def _encode(self, message: Message) -> bytes:
        body = frame(self._encoder.encode(message), self._limits)
        self._step(message)
        self._sent += 1  # only what was really sent counts, so a refused message leaves no gap
        return body

    def _check_waiting(self, request_id: str) -> None:
        if request_id not in self._waiting:
            raise ProtocolError(
                f"an answer to `{request_id}`, which was not asked", violation="unasked_answer"
            )


@functools.lru_cache(maxsize=8)
def _of_messages(limits: FrameLimits) -> FrameLimits:
    """`limits` of a payload, for a message: its fields are items too."""
    return replace(limits, max_items=limits.max_items + _MOST_FIELDS)


class HostConnection(_Connection[FromWorker]):
    """The host's end: sends `FromHost`, receives `FromWorker`."""

    _decoder = msgspec.msgpack.Decoder(FromWorker)

    def __init__(self, limits: FrameLimits = DEFAULT_LIMITS) -> None:
        super().__init__(limits)
        self._shape = _of_messages(limits)
        self._received = 0
        self._code_ran = False
        self._seen: set[str] = set()
        self._request_bytes: dict[str, int] = {}
        self._bytes_in_flight = 0

    def has_room(self, answer_bytes: int) -> bool:
        """Whether more may be read, with `answer_bytes` of answers not yet taken by the worker.

        False only while at least one request or answer is on its way, so waiting for it ends.
        """
        return self._bytes_in_flight + answer_bytes <= self._limits.max_bytes_in_flight

    def send(self, message: FromHost) -> bytes:
        """The bytes of `message`; a ProtocolError if it is not its turn or it is too large."""
        if type(message) is not CapabilityResponseMessage:
            return self._encode(message)
        self._check_waiting(message.request_id)
        data = self._encode(message)
        self._waiting.remove(message.request_id)
        self._bytes_in_flight -= self._request_bytes.pop(message.request_id)
        return data

    def _begin_run(self) -> None:
        super()._begin_run()
        # Every run has its own evidence, in which a request id is used once; what the run before
        # asked for and did not wait for is not answered any more.
        self._seen.clear()
        self._request_bytes.clear()
        self._bytes_in_flight = 0
        self._code_ran = False

    def stamp(self) -> dict[str, Any]:
        """The `id` and `timestamp` of the next message from this end."""
        return {"id": f"host:{self._sent + 1}", "timestamp": time.time()}

    def _accept(self, body: bytes) -> FromWorker:
        check_shape(body, limits=self._shape)
        message = super()._accept(body)
        if type(message) is CapabilityRequestMessage:
            self._request_bytes[message.request_id] = len(body)
            self._bytes_in_flight += len(body)
        return message

    def _check_incoming(self, message: FromWorker) -> None:
        if type(message) is ReadyMessage:
            return
        self._received += 1
        expected = f"{self._execution_id}:{self._received}"
        if message.id != expected:
            raise ProtocolError(
                f"a message calls itself `{message.id}` where `{expected}` was due",
                violation="forged_id",
            )
        if type(message) is CapabilityRequestMessage:
            self._check_request(message)
        elif type(message) is StartedMessage:
            self._code_ran = True
        elif type(message) is ResultMessage:
            self._check_result(message)

    def _check_result(self, message: ResultMessage) -> None:
        if message.never_ran is self._code_ran:
            raise ProtocolError(
                "a result that says otherwise than its worker whether the code ran",
                violation="contradiction",
            )
        if message.error is not None:
            check_json_like(message.error.details, self._limits)

    def _check_request(self, message: CapabilityRequestMessage) -> None:
        if message.request_id in self._seen:
            raise ProtocolError(
                f"request `{message.request_id}` was sent before", violation="replayed_request"
            )
        if len(self._waiting) >= self._limits.max_in_flight:
            raise ProtocolError(
                f"more than {self._limits.max_in_flight} requests in flight",
                violation="too_many_in_flight",
            )
        check_json_like(message.payload, self._limits)
        self._seen.add(message.request_id)
        self._waiting.add(message.request_id)


class WorkerConnection(_Connection[FromHost]):
    """The worker's end: sends `FromWorker`, receives `FromHost`."""

    _decoder = msgspec.msgpack.Decoder(FromHost)

    def __init__(self, limits: FrameLimits = DEFAULT_LIMITS) -> None:
        super().__init__(limits)
        self._execution_id = "spare"

    def send(self, message: FromWorker) -> bytes:
        """The bytes of `message`; a ProtocolError if it is not its turn or it is too large."""
        if type(message) is CapabilityRequestMessage:
            check_json_like(message.payload, self._limits)
            data = self._encode(message)
            self._waiting.add(message.request_id)
            return data
        return self._encode(message)

    def stamp(self) -> dict[str, Any]:
        """The `id` and `timestamp` of the next message from this end."""
        return {"id": f"{self._execution_id}:{self._sent + 1}", "timestamp": time.time()}

    def _count_under(self, name: str) -> None:
        super()._count_under(name)
        self._sent = 0

    def _check_incoming(self, message: FromHost) -> None:
        if type(message) is CapabilityResponseMessage:
            self._check_waiting(message.request_id)
            self._waiting.remove(message.request_id)
