"""(5) A channel's life: every step is in the table, and a step that is not ends the channel."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from caps.protocol.connection import (
    SESSION_TRANSITIONS,
    TRANSITIONS,
    HostConnection,
    State,
    WorkerConnection,
)
from caps.protocol.errors import ProtocolError
from caps.protocol.framing import FrameLimits, frame
from caps.protocol.messages import (
    CapabilityRequestMessage,
    CapabilityResponseMessage,
    ErrorReport,
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

LIMITS = FrameLimits(max_frame_bytes=64 * 1024, max_in_flight=3)
encode = msgspec.msgpack.encode


class Pair:
    """Both ends of one channel; what one sends the other receives immediately."""

    def __init__(self, limits: FrameLimits = LIMITS) -> None:
        self.host = HostConnection(limits)
        self.worker = WorkerConnection(limits)

    def from_worker(self, kind: type[Any], **fields: Any) -> Any:
        data = self.worker.send(kind(**{**self.worker.stamp(), **fields}))
        (message,) = self.host.receive(data)
        return message

    def from_host(self, kind: type[Any], **fields: Any) -> Any:
        data = self.host.send(kind(**{**self.host.stamp(), **fields}))
        (message,) = self.worker.receive(data)
        return message

    def ask(self, request_id: str, payload: dict[str, Any] | None = None) -> Any:
        return self.from_worker(
            CapabilityRequestMessage,
            request_id=request_id,
            capability="files.read",
            payload=payload or {},
        )

    def forge(self, kind: type[Any], number: int, **fields: Any) -> list[Any]:
        """What the host makes of a message that did not go through the worker's own machine."""
        stamped = {"id": f"e1:{number}", "timestamp": 1.0, **fields}
        return list(self.host.receive(frame(encode(kind(**stamped)))))


def to_ready(pair: Pair) -> None:
    pair.from_worker(ReadyMessage, protocol=1, python="3.11.0")


def to_prepared(pair: Pair, *, session: bool = False) -> None:
    to_ready(pair)
    pair.from_host(
        ManifestMessage,
        execution_id="e1",
        namespace="caps",
        policy_id="p",
        capabilities=[],
        session=session,
    )


def start(pair: Pair) -> None:
    limits = WorkerLimits(cpu_ms=1000, memory_mb=64, concurrency=2)
    pair.from_host(StartMessage, source="1", filename="<agent>", limits=limits)


def to_starting(pair: Pair) -> None:
    to_prepared(pair)
    start(pair)


def to_running(pair: Pair) -> None:
    to_starting(pair)
    pair.from_worker(StartedMessage)


def to_done(pair: Pair) -> None:
    to_running(pair)
    pair.from_worker(ResultMessage)


REACH = {
    State.BOOTING: lambda _pair: None,
    State.READY: to_ready,
    State.PREPARED: to_prepared,
    State.STARTING: to_starting,
    State.RUNNING: to_running,
    State.DONE: to_done,
}

FROM_WORKER: dict[type[Message], dict[str, Any]] = {
    ReadyMessage: {"protocol": 1, "python": "3"},
    StartedMessage: {},
    CapabilityRequestMessage: {"request_id": "r1", "capability": "a.b", "payload": {}},
    OutputMessage: {"text": "hello"},
    ResultMessage: {},
}


def running() -> Pair:
    pair = Pair()
    to_running(pair)
    return pair


def violation_of(error: pytest.ExceptionInfo[ProtocolError]) -> str:
    return str(error.value.violation)


def test_a_whole_execution_goes_through() -> None:
    """From ready to result, both ends agree on where they are."""
    pair = running()
    assert pair.ask("r1").payload == {}
    assert pair.from_host(CapabilityResponseMessage, request_id="r1", result=[1]).result == [1]
    assert pair.from_worker(OutputMessage, text="x").text == "x"
    pair.from_worker(ResultMessage, value=b"\x01")
    assert (pair.host.state, pair.worker.state) == (State.DONE, State.DONE)


@pytest.mark.parametrize("state", REACH, ids=lambda state: state.value)
@pytest.mark.parametrize("kind", FROM_WORKER, ids=lambda kind: kind.__name__)
def test_a_message_is_taken_in_its_turn_and_at_no_other_time(
    state: State, kind: type[Message]
) -> None:
    """For every state and every message of the worker, the table alone decides."""
    pair = Pair()
    REACH[state](pair)
    assert pair.host.state is state
    number = {State.RUNNING: 2, State.DONE: 3}.get(state, 1)
    fields = dict(FROM_WORKER[kind])
    if kind is ResultMessage:
        fields["never_ran"] = state is State.STARTING
    after = TRANSITIONS.get((state, kind))
    if after is not None:
        assert [type(message) for message in pair.forge(kind, number, **fields)] == [kind]
        assert pair.host.state is after
        return
    with pytest.raises(ProtocolError) as error:
        pair.forge(kind, number, **fields)
    assert (violation_of(error), pair.host.state) == ("out_of_turn", State.FAILED)


def test_a_message_travels_only_in_its_own_direction() -> None:
    """The host does not accept an answer: only it sends them."""
    pair = running()
    with pytest.raises(ProtocolError) as error:
        pair.forge(CapabilityResponseMessage, 2, request_id="r1", result=1)
    assert violation_of(error) == "malformed"


def test_an_end_does_not_send_out_of_turn() -> None:
    """The same table applies to our own side, and a refused message changes nothing."""
    pair = Pair()
    with pytest.raises(ProtocolError):
        pair.host.send(CapabilityResponseMessage(id="host:1", timestamp=1.0, request_id="r1"))
    to_running(pair)
    assert (pair.host.state, pair.worker.state) == (State.RUNNING, State.RUNNING)


class TestIdentifiers:
    @pytest.mark.parametrize(
        "wrong", ["e1:1", "e1:3", "e1:02", "e2:2", "2", "spare:2", "host:2", "e1:2 "]
    )
    def test_a_forged_id_is_refused(self, wrong: str) -> None:
        """The id is the execution of this channel and the next number, and nothing else."""
        pair = running()
        with pytest.raises(ProtocolError) as error:
            pair.forge(OutputMessage, 2, id=wrong, text="x")
        assert violation_of(error) == "forged_id"

    def test_a_replayed_frame_is_refused(self) -> None:
        """A second copy of a frame carries a number that has passed."""
        pair = running()
        message = OutputMessage(text="x", **pair.worker.stamp())
        data = pair.worker.send(message)
        pair.host.receive(data)
        with pytest.raises(ProtocolError) as error:
            pair.host.receive(data)
        assert violation_of(error) == "forged_id"

    def test_a_refused_message_of_our_own_leaves_no_gap(self) -> None:
        """What could not be sent was not counted, so the next message has the expected number."""
        pair = running()
        with pytest.raises(ProtocolError):
            pair.from_worker(OutputMessage, text="x" * LIMITS.max_frame_bytes)
        with pytest.raises(OverflowError):
            pair.ask("r1", {"n": 2**70})
        assert pair.worker.in_flight == 0
        assert pair.ask("r2").id == "e1:2"


class TestRequests:
    def test_a_request_id_is_used_once_even_after_its_answer(self) -> None:
        """A replay under a fresh message id is still a replay."""
        pair = running()
        pair.ask("r1")
        pair.from_host(CapabilityResponseMessage, request_id="r1")
        with pytest.raises(ProtocolError) as error:
            pair.ask("r1")
        assert violation_of(error) == "replayed_request"

    def test_no_more_wait_than_the_limit(self) -> None:
        """One over the limit ends the channel; an answer makes room for one more."""
        pair = running()
        for number in range(3):
            pair.ask(f"r{number}")
        pair.from_host(CapabilityResponseMessage, request_id="r0")
        pair.ask("r3")
        assert (pair.host.in_flight, pair.worker.in_flight) == (3, 3)
        with pytest.raises(ProtocolError) as error:
            pair.ask("r4")
        assert violation_of(error) == "too_many_in_flight"

    def test_an_answer_needs_a_question(self) -> None:
        """Neither end sends or takes an answer that nobody waits for, or a second one."""
        pair = running()
        pair.ask("r1")
        pair.from_host(CapabilityResponseMessage, request_id="r1")
        answer = CapabilityResponseMessage(request_id="r1", **pair.host.stamp())
        with pytest.raises(ProtocolError) as error:
            pair.host.send(answer)
        assert violation_of(error) == "unasked_answer"
        with pytest.raises(ProtocolError) as error:
            pair.worker.receive(frame(encode(answer)))
        assert violation_of(error) == "unasked_answer"

    def test_items_and_questions_alternate(self) -> None:
        """An item is sent when it is asked for; a response ends the stream, on both ends."""
        pair = running()
        pair.ask("s1")
        for _ in range(2):
            pair.from_host(StreamItemMessage, request_id="s1", item=1)
            assert (pair.host.in_flight, pair.worker.in_flight) == (1, 1)
            again = StreamItemMessage(request_id="s1", **pair.host.stamp())
            with pytest.raises(ProtocolError) as error:
                pair.host.send(again)
            assert violation_of(error) == "unasked_answer"
            pair.from_worker(StreamNextMessage, request_id="s1")
        pair.from_host(CapabilityResponseMessage, request_id="s1")
        assert (pair.host.in_flight, pair.worker.in_flight) == (0, 0)
        with pytest.raises(ProtocolError) as error:
            pair.worker.send(StreamNextMessage(request_id="s1", **pair.worker.stamp()))
        assert violation_of(error) == "unknown_stream"

    @pytest.mark.parametrize("crossed", [StreamItemMessage, CapabilityResponseMessage])
    def test_a_stop_may_cross_what_the_host_sends(self, crossed: type[Any]) -> None:
        """Both ends agree in the end: the stream is over, and nothing waits."""
        pair = running()
        pair.ask("s1")
        stop = pair.worker.send(
            StreamNextMessage(request_id="s1", stop=True, **pair.worker.stamp())
        )
        pair.from_host(crossed, request_id="s1")
        pair.host.receive(stop)
        if crossed is StreamItemMessage:
            pair.from_host(CapabilityResponseMessage, request_id="s1")
        assert (pair.host.in_flight, pair.worker.in_flight) == (0, 0)

    def test_an_open_stream_does_not_keep_the_host_from_reading(self) -> None:
        """Its arguments are bounded elsewhere; they no longer count once an item was sent."""
        pair = running()
        pair.ask("s1")
        assert pair.host.bytes_in_flight > 0
        pair.from_host(StreamItemMessage, request_id="s1")
        assert pair.host.bytes_in_flight == 0

    def test_an_answer_that_cannot_be_sent_leaves_the_request_waiting(self) -> None:
        """The host can still answer it with a failure."""
        pair = running()
        pair.ask("r1")
        with pytest.raises(ProtocolError) as error:
            pair.from_host(CapabilityResponseMessage, request_id="r1", result="x" * 70_000)
        assert violation_of(error) == "frame_too_large"
        assert pair.from_host(CapabilityResponseMessage, request_id="r1").result is None

    def test_an_answer_may_cross_the_result(self) -> None:
        """The host may answer before it has read that the code has ended."""
        pair = running()
        pair.ask("r1")
        result = pair.worker.send(ResultMessage(**pair.worker.stamp()))
        pair.from_host(CapabilityResponseMessage, request_id="r1")
        pair.host.receive(result)
        assert (pair.host.state, pair.worker.state) == (State.DONE, State.DONE)

    @pytest.mark.parametrize(
        "value",
        [
            float("nan"),
            float("inf"),
            b"x",
            msgspec.msgpack.Ext(5, b"x"),
            {1: 2},
            {(1, 2): 3},
            {"pad": "x" * 5000, "a": {(1, 2): 3}},
        ],
    )
    def test_a_payload_that_is_not_json_like_is_refused(self, value: object) -> None:
        """Whatever the broker would stumble over never reaches it."""
        pair = running()
        with pytest.raises(ProtocolError) as error:
            pair.forge(
                CapabilityRequestMessage,
                2,
                request_id="r1",
                capability="a.b",
                payload={"v": value},
            )
        assert (violation_of(error), pair.host.in_flight) == ("not_json_like", 0)

    @pytest.mark.parametrize(("levels", "taken"), [(63, True), (64, False), (200, False)])
    def test_the_depth_of_a_payload_is_capped(self, levels: int, taken: bool) -> None:
        """Sixty-four levels with the payload itself; the worker refuses to send more, too."""
        value: Any = 0
        for _ in range(levels):
            value = [value]
        pair = running()
        fields = {"request_id": "r1", "capability": "a.b", "payload": {"v": value}}
        if taken:
            assert len(pair.forge(CapabilityRequestMessage, 2, **fields)) == 1
            return
        for send in (pair.from_worker, lambda kind, **rest: pair.forge(kind, 2, **rest)):
            with pytest.raises(ProtocolError) as error:
                send(CapabilityRequestMessage, **fields)
            assert violation_of(error) == "too_deep"

    def test_the_largest_payload_that_the_worker_sends_is_one_that_the_host_takes(self) -> None:
        """Both ends count alike, so an honest worker is never taken for a misbehaving one."""
        limits = FrameLimits(max_items=10_000)
        pair = Pair(limits)
        to_running(pair)
        payload = {f"key {number:08}": number for number in range(5_000)}
        assert pair.ask("r1", payload).payload == payload
        with pytest.raises(ProtocolError) as error:
            pair.ask("r2", {**payload, "one": "more"})
        assert (violation_of(error), pair.host.state) == ("too_many_items", State.RUNNING)


class TestResults:
    def test_a_result_before_the_start_must_say_that_the_code_never_ran(self) -> None:
        """What did not start cannot have a result."""
        pair = Pair()
        to_starting(pair)
        with pytest.raises(ProtocolError) as error:
            pair.forge(ResultMessage, 1)
        assert violation_of(error) == "contradiction"

    def test_code_that_started_cannot_be_said_to_have_never_run(self) -> None:
        """Otherwise a caller would run it a second time."""
        pair = running()
        with pytest.raises(ProtocolError) as error:
            pair.forge(ResultMessage, 2, never_ran=True)
        assert violation_of(error) == "contradiction"

    @pytest.mark.parametrize("value", [b"x", float("nan"), {1: 2}, msgspec.msgpack.Ext(1, b"x")])
    def test_details_of_an_error_are_json_like(self, value: object) -> None:
        """They are shown to people and written as JSON."""
        report = ErrorReport(type="E", code="execution_error", message="", details={"v": value})
        with pytest.raises(ProtocolError) as error:
            running().forge(ResultMessage, 2, error=report)
        assert violation_of(error) == "not_json_like"


class TestSessions:
    def session(self) -> Pair:
        """A session whose first cell runs."""
        pair = Pair()
        to_prepared(pair, session=True)
        start(pair)
        pair.from_worker(StartedMessage)
        return pair

    def test_a_start_may_follow_a_result(self) -> None:
        """Cell after cell, with one count of messages."""
        pair = self.session()
        for number in (2, 4, 6):
            assert pair.from_worker(ResultMessage).id == f"e1:{number}"
            start(pair)
            pair.from_worker(StartedMessage)
        assert (pair.host.state, pair.worker.state) == (State.RUNNING, State.RUNNING)

    def test_elsewhere_it_may_not(self) -> None:
        """Neither end starts, or is started, twice without a session."""
        pair = Pair()
        to_done(pair)
        limits = WorkerLimits(cpu_ms=1, memory_mb=1, concurrency=1)
        again = StartMessage(source="1", filename="f", limits=limits, **pair.host.stamp())
        with pytest.raises(ProtocolError) as error:
            pair.host.send(again)
        assert violation_of(error) == "out_of_turn"
        with pytest.raises(ProtocolError) as error:
            pair.worker.receive(frame(encode(again)))
        assert violation_of(error) == "out_of_turn"

    def test_only_the_next_start_is_added(self) -> None:
        """Whatever else a worker may say, and when, is the same in a session."""
        assert set(SESSION_TRANSITIONS) - set(TRANSITIONS) == {(State.DONE, StartMessage)}

    @pytest.mark.parametrize("kind", FROM_WORKER, ids=lambda kind: kind.__name__)
    def test_a_worker_says_nothing_between_cells(self, kind: type[Message]) -> None:
        """It waits for its next start."""
        pair = self.session()
        pair.from_worker(ResultMessage)
        with pytest.raises(ProtocolError) as error:
            pair.forge(kind, 3, **FROM_WORKER[kind])
        assert violation_of(error) == "out_of_turn"

    def test_an_answer_may_come_between_cells_and_not_later(self) -> None:
        """Until the next start it may cross the result; then its request is forgotten."""
        pair = self.session()
        pair.ask("r1")
        pair.ask("r2")
        pair.from_worker(ResultMessage)
        pair.from_host(CapabilityResponseMessage, request_id="r1")
        start(pair)
        assert (pair.host.in_flight, pair.worker.in_flight) == (0, 0)
        pair.from_worker(StartedMessage)
        late = CapabilityResponseMessage(request_id="r2", **pair.host.stamp())
        with pytest.raises(ProtocolError) as error:
            pair.host.send(late)
        assert violation_of(error) == "unasked_answer"
        with pytest.raises(ProtocolError) as error:
            pair.worker.receive(frame(encode(late)))
        assert violation_of(error) == "unasked_answer"

    def test_whether_the_code_ran_is_reported_by_the_cell(self) -> None:
        """A cell that did not compile never ran, although the one before it did."""
        pair = self.session()
        pair.from_worker(ResultMessage)
        start(pair)
        assert pair.from_worker(ResultMessage, never_ran=True).never_ran
        start(pair)
        with pytest.raises(ProtocolError) as error:
            pair.forge(ResultMessage, 4)
        assert violation_of(error) == "contradiction"


class TestViolations:
    @pytest.mark.parametrize(
        "body", [b"", b"\xc1", b"\xff" * 64, b"\x91" * 100_000, b"\x81\xa4type\xa1\xff", b"\x80"]
    )
    def test_bytes_that_are_no_message_end_the_channel(self, body: bytes) -> None:
        """Garbage is a ProtocolError, whatever the decoder thinks of it."""
        pair = running()
        with pytest.raises(ProtocolError):
            pair.host.receive(frame(body))
        assert pair.host.state is State.FAILED

    def test_nothing_is_taken_after_a_violation(self) -> None:
        """There is no resynchronising, in either direction, after a violation."""
        pair = running()
        pair.ask("r1")
        good = pair.worker.send(OutputMessage(text="x", **pair.worker.stamp()))
        with pytest.raises(ProtocolError):
            pair.host.receive(frame(b"\xc1"))
        with pytest.raises(ProtocolError) as error:
            pair.host.receive(good)
        assert violation_of(error) == "failed_before"
        with pytest.raises(ProtocolError):
            pair.from_host(CapabilityResponseMessage, request_id="r1", result=1)

    def test_what_came_before_a_violation_in_the_same_bytes_is_dropped(self) -> None:
        """A valid request before a violation has no effect."""
        pair = running()
        good = pair.worker.send(OutputMessage(text="x", **pair.worker.stamp()))
        with pytest.raises(ProtocolError):
            pair.host.receive(good + frame(b"\xc1"))

    def test_a_huge_length_is_refused_before_its_body(self) -> None:
        """The announcement alone ends the channel."""
        pair = running()
        with pytest.raises(ProtocolError) as error:
            pair.host.receive(b"\x7f\xff\xff\xff")
        assert violation_of(error) == "frame_too_large"

    def test_an_end_in_mid_frame_is_a_violation_and_between_frames_is_not(self) -> None:
        """A truncated frame differs from a peer that closed."""
        pair = running()
        pair.host.at_end()
        data = pair.worker.send(OutputMessage(text="x", **pair.worker.stamp()))
        pair.host.receive(data[:-1])
        with pytest.raises(ProtocolError) as error:
            pair.host.at_end()
        assert (violation_of(error), pair.host.state) == ("truncated_frame", State.FAILED)
