"""The fast path through a channel does what the three steps of `receive` do."""

from __future__ import annotations

import itertools
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec import msgpack

from caps.protocol.connection import HostConnection, State, WorkerConnection
from caps.protocol.errors import ProtocolError
from caps.protocol.framing import FrameLimits, frame
from caps.protocol.messages import (
    CallFailure,
    CapabilityRequestMessage,
    CapabilityResponseMessage,
    ErrorReport,
    OutputMessage,
    ResultMessage,
    StartedMessage,
    StreamItemMessage,
)
from support.hypothesis_examples import examples

EXAMPLES = examples(200)
# The strategies make frames that are larger than these, in both directions.
LIMITS = FrameLimits(max_in_flight=3, max_items=40, max_frame_bytes=2500)
STATES = st.sampled_from([State.RUNNING, State.RUNNING, State.RUNNING, State.DONE, State.STARTING])
VALUES = st.one_of(
    st.integers(-3, 2**60),
    st.floats(allow_nan=True),
    st.text(max_size=3),
    st.just("x" * 3000),
    st.lists(st.none(), max_size=50),
    st.binary(max_size=2),
)
PAYLOADS = st.dictionaries(st.text(max_size=3), VALUES, max_size=3)
NUMBERS = st.sampled_from([None, None, None, None, 1, 7])
REQUEST_IDS = st.sampled_from(["r1", "r2", "r3", "r4", "r5", ""])
ERROR = ErrorReport(code="code_error", type="ValueError", message="")
# What a worker sends: requests, text between them, and bytes that are no message.
SENT: st.SearchStrategy[tuple[str, int | None, str, dict[str, Any]]] = st.one_of(
    st.tuples(st.just("request"), NUMBERS, REQUEST_IDS, PAYLOADS),
    st.tuples(st.just("request"), st.none(), REQUEST_IDS, st.just({"a": 2})),
    st.tuples(st.just("request"), st.none(), REQUEST_IDS, st.just({"a": 2})),
    st.tuples(st.just("output"), st.none(), st.just(""), st.just({})),
    st.tuples(st.just("started"), NUMBERS, st.just(""), st.just({})),
    st.tuples(
        st.just("result"),
        NUMBERS,
        st.just(""),
        st.sampled_from([{}, {}, {"value": b"\x06"}, {"never_ran": True}, {"error": ERROR}]),
    ),
    st.tuples(st.just("garbage"), st.none(), st.just(""), st.just({})),
)
CUTS = st.lists(st.integers(0, 400), max_size=3)


def bytes_of(sent: list[Any]) -> bytes:
    """The frames of a program, numbered as a worker does unless it says otherwise."""
    data = b""
    for place, (kind, number, request_id, payload) in enumerate(sent, 1):
        stamp: dict[str, Any] = {"id": f"e:{number or place}", "timestamp": 1.0}
        if kind == "request":
            message: Any = CapabilityRequestMessage(
                request_id=request_id, capability="box.take", payload=payload, **stamp
            )
        elif kind == "started":
            message = StartedMessage(**stamp)
        elif kind == "result":
            message = ResultMessage(**payload, **stamp)
        else:
            message = OutputMessage(text="x", **stamp)
        data += frame(b"\xc1" if kind == "garbage" else msgpack.encode(message))
    return data


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    """The same bytes in several reads."""
    places = [0, *sorted(cut for cut in cuts if cut < len(data)), len(data)]
    found = [data[a:b] for a, b in itertools.pairwise(places)]
    return [piece for piece in found if piece]


def state_of(connection: Any) -> Any:
    """Everything that decides about later messages."""
    names = ("_waiting", "_paused", "_stopped", "_sent", "_received", "_request_ids")
    held = ("_request_bytes", "bytes_in_flight", "state", "_code_ran")
    return [getattr(connection, name, None) for name in (*names, *held)]


def taken(connection: Any, data: list[bytes], is_fast: bool) -> list[Any]:
    """The messages of each read, or how it failed, with the state after it."""
    found: list[Any] = []
    for piece in data:
        try:
            if not is_fast:
                bodies = connection.split(piece)
                found.append(connection.accept(map(connection.decode, bodies)))
            elif (one := connection.take_one(piece)) is not None:
                found.append([one])
            else:
                found.append(connection.accept_bodies(connection.split(piece)))
        except ProtocolError as error:
            found.append((error.message, error.details))
        found.append(repr(state_of(connection)))
    return found


@EXAMPLES
@given(STATES, st.lists(SENT, min_size=1, max_size=5), CUTS)
def test_the_host_takes_the_same_messages(state: State, sent: list[Any], cuts: list[int]) -> None:
    """The same messages, the same violations, the same state after each read."""
    found = []
    for is_fast in (False, True):
        host = HostConnection(LIMITS)
        host.state, host._execution_id = state, "e"
        found.append(taken(host, pieces(bytes_of(sent), cuts), is_fast))
    assert repr(found[0]) == repr(found[1])  # by text: NaN is not equal to itself


@EXAMPLES
@given(
    STATES,
    st.lists(st.tuples(st.booleans(), REQUEST_IDS, VALUES), min_size=1, max_size=4),
    CUTS,
    st.booleans(),
)
def test_the_worker_takes_the_same_answers(
    state: State, sent: list[Any], cuts: list[int], stopped: bool
) -> None:
    """Also if it has stopped a stream, and for answers that it did not ask for."""
    data = b""
    for place, (is_item, request_id, value) in enumerate(sent):
        stamp: dict[str, Any] = {"id": f"host:{place}", "timestamp": 1.0, "request_id": request_id}
        message = StreamItemMessage if is_item else CapabilityResponseMessage
        field = {"item" if is_item else "result": value}
        data += frame(msgpack.encode(message(**stamp, **field)))
    found = []
    for is_fast in (False, True):
        worker = WorkerConnection(LIMITS)
        worker.state, worker._waiting = state, {"r1", "r2", "r3"}
        worker._stopped = {"r2"} if stopped else set()
        found.append(taken(worker, pieces(data, cuts), is_fast))
    assert repr(found[0]) == repr(found[1])


@EXAMPLES
@given(STATES, REQUEST_IDS, st.one_of(VALUES, st.just("y" * 600)), st.booleans())
def test_a_response_is_sent_the_same_way(
    state: State, request_id: str, result: Any, fails: bool
) -> None:
    """The same bytes but for the time, or the same refusal, and the same state."""
    failure = CallFailure(code="provider", message="m") if fails else None
    found: list[Any] = []
    for is_fast in (False, True):
        host = HostConnection(FrameLimits(max_frame_bytes=500))
        host.state, host._waiting = state, {"r1", "r2"}
        host._request_bytes, host.bytes_in_flight = {"r1": 5, "r2": 7}, 12
        try:
            if is_fast:
                data = host.respond(request_id, result, failure)
            else:
                fields: dict[str, Any] = {"result": result, "failure": failure}
                stamp = host.stamp()
                data = host.send(
                    CapabilityResponseMessage(request_id=request_id, **fields, **stamp)
                )
            found.append({**msgpack.decode(data[4:]), "timestamp": 0, "size": data[:4]})
        except ProtocolError as error:
            found.append((error.message, error.details))
        found.append(state_of(host))
    assert repr(found[:2]) == repr(found[2:])


@EXAMPLES
@given(STATES, PAYLOADS)
def test_a_request_is_sent_the_same_way(state: State, payload: dict[str, Any]) -> None:
    """The same bytes but for the time, or the same refusal, and the same state."""
    found: list[Any] = []
    for is_fast in (False, True):
        worker = WorkerConnection(LIMITS)
        worker.state, worker._execution_id = state, "e"
        fields: dict[str, Any] = {"capability": "box.take", "payload": payload}
        try:
            if is_fast:
                data = worker.request("r1", fields)
            else:
                message = CapabilityRequestMessage(request_id="r1", **fields, **worker.stamp())
                data = worker.send(message)
            found.append({**msgpack.decode(data[4:]), "timestamp": 0, "size": data[:4]})
        except ProtocolError as error:
            found.append((error.message, error.details))
        found.append(state_of(worker))
    assert repr(found[:2]) == repr(found[2:])
