"""(5) Any bytes, in any chunks: messages or a ProtocolError, and never more memory than a frame.

The connection is also held against a model of it: a random walk over all messages, where the model
knows only the transition table and a few sets.
"""

from __future__ import annotations

from typing import Any, get_args

import msgspec
from hypothesis import event, given
from hypothesis import strategies as st

from caps.protocol.connection import TRANSITIONS, HostConnection, State, WorkerConnection
from caps.protocol.errors import ProtocolError
from caps.protocol.framing import (
    SCALAR_KEYS,
    FrameLimits,
    FrameReader,
    check_json_like,
    check_shape,
    frame,
)
from caps.protocol.messages import (
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
    StreamItemMessage,
    StreamNextMessage,
    WorkerLimits,
)
from caps.protocol.values import decode_value, encode_value
from support.hypothesis_examples import examples

EXAMPLES = examples(200)
LIMITS = FrameLimits(max_frame_bytes=4096, max_in_flight=2, max_depth=8, max_items=512)
encode = msgspec.msgpack.encode

texts = st.text(max_size=20)
integers = st.integers(min_value=-(2**63), max_value=2**64 - 1)
json_like = st.recursive(
    st.none() | st.booleans() | integers | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
# What msgpack can say and JSON cannot.
anything = st.recursive(
    st.none() | integers | st.floats() | texts | st.binary(max_size=8) | st.builds(
        msgspec.msgpack.Ext, st.integers(-128, 127), st.binary(max_size=12)
    ),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(texts | integers | st.binary(max_size=4) | st.tuples(integers), inner,
                      max_size=4),
    max_leaves=12,
)  # fmt: skip


def cut(data: bytes, places: list[int]) -> list[bytes]:
    """`data` in chunks that end at `places`."""
    ends = sorted({place % (len(data) + 1) for place in places} | {len(data)})
    return [data[start:end] for start, end in zip([0, *ends], ends, strict=False)]


class TestBytes:
    @EXAMPLES
    @given(
        bodies=st.lists(st.binary(max_size=64), max_size=6),
        places=st.lists(st.integers(0, 500), max_size=12),
    )
    def test_chunking_never_matters(self, bodies: list[bytes], places: list[int]) -> None:
        """The frames are the same wherever the stream is cut."""
        reader = FrameReader(LIMITS)
        data = b"".join(frame(body, LIMITS) for body in bodies)
        assert [body for chunk in cut(data, places) for body in reader.feed(chunk)] == bodies
        assert reader.pending == 0

    @EXAMPLES
    @given(chunks=st.lists(st.binary(max_size=200), max_size=20))
    def test_a_reader_holds_no_more_than_one_frame(self, chunks: list[bytes]) -> None:
        """Whatever comes, what is kept is less than a frame and its length."""
        reader = FrameReader(FrameLimits(max_frame_bytes=100))
        for chunk in chunks:
            try:
                reader.feed(chunk)
            except ProtocolError:
                event("refused")
                return
            assert reader.pending < 4 + 100

    @EXAMPLES
    @given(
        data=st.binary(max_size=300)
        | st.lists(st.binary(max_size=60), max_size=4).map(lambda all_: b"".join(map(frame, all_))),
        places=st.lists(st.integers(0, 300), max_size=8),
    )
    def test_any_bytes_are_messages_or_a_protocol_error(
        self, data: bytes, places: list[int]
    ) -> None:
        """Neither end has another way to fail."""
        ends: list[Any] = [HostConnection(LIMITS), WorkerConnection(LIMITS)]
        for end in ends:
            feed(end, cut(data, places))

    @EXAMPLES
    @given(
        payload=st.dictionaries(texts, anything, max_size=3),
        details=st.dictionaries(texts, anything, max_size=3),
        flips=st.lists(st.tuples(st.integers(0, 5000), st.integers(1, 255)), max_size=3),
        padding=st.sampled_from(["", "x" * 3000]),
    )
    def test_almost_right_messages_are_messages_or_a_protocol_error(
        self,
        payload: dict[str, Any],
        details: dict[str, Any],
        flips: list[tuple[int, int]],
        padding: str,
    ) -> None:
        """A well-formed message with strange data or a few flipped bytes does no harm."""
        common = {"id": "e1:2", "timestamp": 1.0}
        wire: list[dict[str, Any]] = [
            {
                "type": "capability_request",
                "request_id": "r1",
                "capability": "a.b",
                "payload": {"padding": padding, **payload},
                **common,
            },
            {
                "type": "result",
                "error": {"type": "E", "code": "c", "message": padding, "details": details},
                **common,
            },
        ]
        for body in map(bytearray, map(encode, wire)):
            for place, flip in flips:
                body[place % len(body)] ^= flip
            host = running_host()
            taken = feed(host, [frame(bytes(body))])
            for message in taken:
                if isinstance(message, CapabilityRequestMessage):
                    check_json_like(message.payload, LIMITS)
                elif isinstance(message, ResultMessage) and message.error is not None:
                    check_json_like(message.error.details, LIMITS)

    @EXAMPLES
    @given(data=st.binary(max_size=100) | anything.map(encode))
    def test_a_result_is_a_value_or_a_protocol_error(self, data: bytes) -> None:
        """What the host decodes it can also encode: it holds plain values only."""
        try:
            value = decode_value(data)
        except ProtocolError:
            event("refused")
            return
        assert encode_value(value, max_bytes=1 << 20, max_depth=65)

    @EXAMPLES
    @given(value=anything, padding=st.just("x" * 3000))
    def test_the_look_over_finds_exactly_the_forbidden_keys(
        self, value: object, padding: str
    ) -> None:
        """It agrees with what a decoder finds, though it decodes nothing."""
        try:
            check_shape(encode([padding, value]), SCALAR_KEYS)
        except ProtocolError:
            assert has_forbidden_key(value)
        else:
            assert not has_forbidden_key(value)


def feed(end: Any, chunks: list[bytes]) -> list[Message]:
    """What `end` makes of the chunks up to its first ProtocolError."""
    taken: list[Message] = []
    for chunk in chunks:
        try:
            taken += end.receive(chunk)
        except ProtocolError as error:
            event(str(error.violation))
            assert end.state is State.FAILED
            break
    return taken


def has_forbidden_key(value: object) -> bool:
    if isinstance(value, dict):
        return any(isinstance(key, (bytes, tuple)) for key in value) or any(
            map(has_forbidden_key, value.values())
        )
    return isinstance(value, list) and any(map(has_forbidden_key, value))


def running_host(limits: FrameLimits = LIMITS) -> HostConnection:
    host = HostConnection(limits)
    host.receive(frame(encode(ReadyMessage(id="spare:1", timestamp=1.0, protocol=1, python="3"))))
    for make in (manifest, start):
        host.send(make(host.stamp()))
    host.receive(frame(encode(StartedMessage(id="e1:1", timestamp=1.0))))
    return host


def manifest(stamp: dict[str, Any]) -> ManifestMessage:
    return ManifestMessage(
        execution_id="e1", namespace="caps", policy_id="p", capabilities=[], **stamp
    )


def start(stamp: dict[str, Any]) -> StartMessage:
    limits = WorkerLimits(cpu_ms=1, memory_mb=1, concurrency=1)
    return StartMessage(source="", filename="f", limits=limits, **stamp)


class TestRoundTrips:
    @EXAMPLES
    @given(
        payload=st.dictionaries(texts, json_like, max_size=4),
        key=st.none() | st.text(min_size=1, max_size=20),
        timeout_ms=st.none() | st.integers(1, 3_600_000),
    )
    def test_a_request_arrives_as_it_was_sent(
        self, payload: dict[str, Any], key: str | None, timeout_ms: int | None
    ) -> None:
        """Every JSON-like payload crosses unchanged."""
        message = CapabilityRequestMessage(
            id="e1:2",
            timestamp=1.0,
            request_id="r1",
            capability="a.b",
            payload=payload,
            idempotency_key=key,
            timeout_ms=timeout_ms,
        )
        host = running_host(FrameLimits())
        assert host.receive(frame(encode(message))) == [message]

    @EXAMPLES
    @given(
        value=st.recursive(
            st.none() | st.integers() | st.floats(allow_nan=False) | texts | st.binary(max_size=9),
            lambda inner: (
                st.lists(inner, max_size=4)
                | st.dictionaries(texts | integers | st.none(), inner, max_size=4)
            ),
            max_leaves=12,
        )
    )
    def test_a_result_arrives_as_it_was_sent(self, value: object) -> None:
        """Integers of any size, bytes and floats cross bit for bit."""
        assert decode_value(encode_value(value, max_bytes=1 << 20)) == value


STEPS: dict[type[Any], dict[str, Any]] = {
    ReadyMessage: {"protocol": 1, "python": "3"},
    StartedMessage: {},
    OutputMessage: {"text": "x"},
    ResultMessage: {},
    CompiledMessage: {"program": b"x"},
    CompileMessage: {
        "source": "",
        "filename": "f",
        "limits": WorkerLimits(cpu_ms=1, memory_mb=1, concurrency=1),
    },
}


class Model:
    """A channel as the host should see it: the table, the count, and who waits."""

    def __init__(self) -> None:
        self.state = State.BOOTING
        self.received = 0
        self.ran = False
        self.seen: set[str] = set()
        self.waiting: set[str] = set()
        self.paused: set[str] = set()
        self.stopped: set[str] = set()

    def takes(self, kind: type[Message], request_id: str, never_ran: bool) -> bool:
        after = TRANSITIONS.get((self.state, kind))
        if after is None:
            return False
        if kind is CapabilityRequestMessage:
            if request_id in self.seen or self.in_flight >= LIMITS.max_in_flight:
                return False
            self.seen.add(request_id)
            self.waiting.add(request_id)
        if kind in (CapabilityResponseMessage, StreamItemMessage):
            if request_id not in self.waiting:
                return False
            self.waiting.remove(request_id)
            self.paused |= {request_id} if kind is StreamItemMessage else set()
        if kind is StreamNextMessage:
            stop = never_ran  # the same random choice
            if request_id not in (self.seen - self.stopped if stop else self.paused):
                return False
            self.stopped |= {request_id} if stop else set()
            self.waiting |= {request_id} & self.paused
            self.paused.discard(request_id)
        if kind is ResultMessage and never_ran is self.ran:
            return False
        self.ran = self.ran or kind is StartedMessage
        self.received += kind in get_args(FromWorker) and kind is not ReadyMessage
        self.state = after
        return True

    @property
    def in_flight(self) -> int:
        return len(self.waiting) + len(self.paused)


KINDS: tuple[type[Message], ...] = (*get_args(FromWorker), *get_args(FromHost))
# Most steps are of a running execution, or walks would seldom get far.
BUSY = (
    *(CapabilityRequestMessage, CapabilityResponseMessage, OutputMessage),
    *(StreamItemMessage, StreamNextMessage),
)
steps = st.tuples(
    st.sampled_from(BUSY) | st.sampled_from(BUSY) | st.sampled_from(KINDS),
    st.sampled_from("abcdefgh"),
    st.booleans(),
)
OPENING: list[tuple[type[Message], str, bool]] = [
    (kind, "a", False) for kind in (ReadyMessage, ManifestMessage, StartMessage, StartedMessage)
]


@EXAMPLES
@given(opened=st.sampled_from([0, 1, 2, 3, 4, 4, 4, 4]), walk=st.lists(steps, max_size=15))
def test_a_random_walk_follows_the_model(
    opened: int, walk: list[tuple[type[Message], str, bool]]
) -> None:
    """For any sequence of messages, the connection takes what the model takes and nothing else."""
    host, model = HostConnection(LIMITS), Model()
    for kind, request_id, never_ran in [*OPENING[:opened], *walk]:
        number = model.received + 1
        expected = model.takes(kind, request_id, never_ran)
        taken = True
        try:
            take(host, kind, request_id, number, never_ran)
        except ProtocolError:
            taken = False
        assert taken == expected
        if not taken and kind in get_args(FromWorker):
            assert host.state is State.FAILED
            return
        assert (host.state, host.in_flight) == (model.state, model.in_flight)
    event(f"ended {model.state.value}")


def take(
    host: HostConnection, kind: type[Any], request_id: str, number: int, never_ran: bool
) -> None:
    """Let `host` send or receive one message of this kind."""
    execution = "compiler" if host.state is State.COMPILING else "e1"
    stamp = {"id": f"{execution}:{number}", "timestamp": 1.0}
    message: Any
    if kind is ManifestMessage:
        message = manifest(stamp)
    elif kind is StartMessage:
        message = start(stamp)
    elif kind is CapabilityRequestMessage:
        message = kind(request_id=request_id, capability="a.b", payload={}, **stamp)
    elif kind in (CapabilityResponseMessage, StreamItemMessage):
        message = kind(request_id=request_id, **stamp)
    elif kind is StreamNextMessage:
        message = kind(request_id=request_id, stop=never_ran, **stamp)
    elif kind is ResultMessage:
        message = kind(never_ran=never_ran, **stamp)
    else:
        message = kind(**STEPS[kind], **stamp)
    if kind in get_args(FromHost):
        host.send(message)
    else:
        assert host.receive(frame(encode(message))) == [message]
