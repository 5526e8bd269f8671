"""(4) `caps` in user space: what is granted, what is said of the rest, and how calls are sent.

A real channel over a socket pair, with the host's end of the protocol behind it; the loop's idle
hook moves both, so that nothing waits and one thread is enough.
"""

from __future__ import annotations

import copy
import socket
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from caps.protocol.connection import HostConnection
from caps.protocol.errors import (
    CALL_ERRORS,
    CapabilityMissingError,
    PolicyDeniedError,
    ProtocolError,
    ValidationError,
)
from caps.protocol.messages import (
    CallFailure,
    CapabilityRequestMessage,
    CapabilityResponseMessage,
    ManifestEntry,
    ManifestMessage,
    OutputMessage,
    ReadyMessage,
    StartedMessage,
    StartMessage,
    WorkerLimits,
)
from caps.worker.inside.caps_api.namespace import Namespace, build_namespace
from caps.worker.inside.caps_api.record import Record
from caps.worker.inside.channel.channel import Channel
from caps.worker.inside.stdlib.asyncio_ import AsyncioFacade

READ = ManifestEntry.of(
    name="files.read",
    schema_in={
        "type": "object",
        "properties": {"path": {"type": "string"}, "max_bytes": {"type": "integer"}},
        "required": ["path"],
        "additionalProperties": False,
    },
    title="Read a file",
    description="Read a text file.",
)
LISTING = ManifestEntry.of(name="files.list", schema_in={"type": "object", "properties": {}})
ANYTHING = ManifestEntry.of(name="probe.any", schema_in={"type": "object", "properties": {"v": {}}})
NOTHING = ManifestEntry.of(name="time.now", schema_in={})


class Stuck(Exception):
    """Nothing is left that could wake the loop."""


class Host:
    """The other end of the channel: receives messages, and answers when the test says so."""

    def __init__(self, concurrency: int = 64) -> None:
        self._socket, self._theirs = socket.socketpair()
        self._socket.setblocking(False)
        self.connection = HostConnection()
        self.channel = Channel(self._theirs.fileno())
        self.requests: list[CapabilityRequestMessage] = []
        self.received: list[Any] = []
        self.answer_all: Any = None  # what every request is answered with immediately
        self.caps = self._handshake(concurrency)
        self.channel.loop._idle = self._idle
        self.aio = AsyncioFacade(self.channel.loop)

    def _handshake(self, concurrency: int) -> Namespace:
        channel = self.channel
        channel.send(ReadyMessage, protocol=1, python="3")
        channel.flush()
        self._take()
        self.say(
            ManifestMessage,
            execution_id="e1",
            namespace="caps",
            policy_id="reader",
            capabilities=[READ, LISTING, ANYTHING, NOTHING],
        )
        limits = WorkerLimits(cpu_ms=1, memory_mb=1, concurrency=concurrency)
        self.say(StartMessage, source="", filename="f", limits=limits)
        manifest = channel.next_message()
        assert isinstance(manifest, ManifestMessage)
        assert isinstance(channel.next_message(), StartMessage)
        channel.send(StartedMessage)
        channel.flush()
        return build_namespace(manifest, channel, concurrency)

    def say(self, kind: type[Any], **fields: Any) -> None:
        self._socket.sendall(self.connection.send(kind(**fields, **self.connection.stamp())))

    def answer(self, request_id: str, result: Any = None, failure: Any = None) -> None:
        self.say(CapabilityResponseMessage, request_id=request_id, result=result, failure=failure)

    def _take(self) -> bool:
        try:
            messages = self.connection.receive(self._socket.recv(1 << 22))
        except BlockingIOError:
            return False
        self.received += messages
        for message in messages:
            if isinstance(message, CapabilityRequestMessage):
                self.requests.append(message)
                if self.answer_all is not None:
                    self.answer(message.request_id, **self.answer_all)
        return True

    def _idle(self, timeout: float | None) -> None:
        """What the worker's idling is, with the host's turn in it."""
        self.channel.flush()
        moved = self._take()
        before = len(self.channel.loop._ready)
        Channel._idle(self.channel, 0)
        if timeout is None and not moved and len(self.channel.loop._ready) == before:
            raise Stuck

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return self.channel.loop.run(self.channel.loop.task(coroutine))

    def asked(self) -> list[str]:
        """The request ids that have come so far."""
        self.channel.flush()
        while self._take():
            pass
        return [request.request_id for request in self.requests]

    def close(self) -> None:
        self._socket.close()
        self._theirs.close()


MakeHost = Callable[..., Host]


@pytest.fixture
def make_host() -> Iterator[MakeHost]:
    made: list[Host] = []

    def make(concurrency: int = 64) -> Host:
        made.append(Host(concurrency))
        return made[-1]

    yield make
    for host in made:
        host.close()


@pytest.fixture
def host(make_host: MakeHost) -> Host:
    return make_host()


class TestCalls:
    def test_a_call_sends_a_request_and_gives_a_record(self, host: Host) -> None:
        """One call, one CapabilityRequestMessage, one answer."""
        host.answer_all = {"result": {"content": "hi", "info": {"size": 2}}}
        got = host.run(host.caps.files.read(path="a.txt", max_bytes=5))
        (request,) = host.requests
        assert (request.capability, request.payload) == (
            "files.read",
            {"path": "a.txt", "max_bytes": 5},
        )
        assert (request.idempotency_key, request.timeout_ms) == (None, None)
        assert isinstance(got, Record)
        assert (got.content, got.info.size) == ("hi", 2)

    def test_positional_arguments_are_bound_by_the_schema(self, host: Host) -> None:
        """`read("a.txt", 5)` is the same call."""
        host.answer_all = {"result": None}
        host.run(host.caps.files.read("a.txt", 5))
        assert host.requests[0].payload == {"path": "a.txt", "max_bytes": 5}

    def test_wrong_arguments_are_a_type_error_that_names_the_call(self, host: Host) -> None:
        """As a Python call would say it."""
        with pytest.raises(TypeError, match=r"caps\.files\.read: takes at most 2"):
            host.run(host.caps.files.read(1, 2, 3))
        assert host.asked() == []

    def test_nothing_happens_until_it_is_awaited(self, host: Host) -> None:
        """A wrapper is an async function."""
        call = host.caps.files.read(path="a.txt")
        assert host.asked() == []
        call.close()

    @pytest.mark.parametrize("code", CALL_ERRORS)
    def test_a_failure_raises_the_class_of_its_code(self, host: Host, code: str) -> None:
        """With its message and details."""
        failure = CallFailure(code=code, message="no", details={"capability": "files.read"})
        host.answer_all = {"failure": failure}
        with pytest.raises(CALL_ERRORS[code], match="no") as error:
            host.run(host.caps.files.read(path="a"))
        assert (type(error.value), error.value.capability) == (CALL_ERRORS[code], "files.read")

    def test_an_unknown_failure_is_a_protocol_error(self, host: Host) -> None:
        """No class is ever looked up by a name from the wire."""
        host.answer_all = {"failure": CallFailure(code="SystemExit", message="x")}
        with pytest.raises(ProtocolError, match="unknown failure `SystemExit`"):
            host.run(host.caps.files.read(path="a"))

    def test_a_payload_that_does_not_fit_is_not_sent(self, host: Host) -> None:
        """The code gets the error immediately, with a structure it can use."""
        with pytest.raises(ValidationError) as error:
            host.run(host.caps.files.read(path=1, nope=2))
        assert error.value.capability == "files.read"
        assert {problem["path"] for problem in error.value.problems} == {"$", "$.path"}
        assert host.asked() == []

    def test_a_capability_without_a_schema_takes_nothing(self, host: Host) -> None:
        """An empty schema is closed, not open."""
        host.answer_all = {"result": 1}
        assert host.run(host.caps.time.now()) == 1
        with pytest.raises(ValidationError):
            host.run(host.caps.time.now(zone="utc"))


def knot() -> list[Any]:
    made: list[Any] = []
    made.extend([made] * 10)
    return made


def deep(levels: int) -> list[Any]:
    made: list[Any] = []
    for _ in range(levels):
        made = [made]
    return made


class TestUnsendable:
    @pytest.mark.parametrize(
        "value",
        [
            float("nan"),
            float("inf"),
            b"bytes",
            {1, 2},
            object(),
            2**64,
            -(2**63) - 1,
            "\ud800",
            {1: 2},
            knot(),
            deep(64),
            deep(5000),
            [0] * 100_001,
            "x" * (17 << 20),
        ],
        ids=lambda value: f"{type(value).__name__}",
    )
    def test_what_the_wire_has_no_room_for_is_a_validation_error(
        self, make_host: MakeHost, value: object
    ) -> None:
        """Nothing is sent, no slot is lost, and the channel is none the worse."""
        host = make_host(concurrency=1)
        with pytest.raises(ValidationError) as error:
            host.run(host.caps.probe.any(value))
        assert error.value.capability == "probe.any"
        assert host.asked() == []
        host.answer_all = {"result": "fine"}
        assert host.run(host.caps.probe.any("small")) == "fine"


class TestOptions:
    def test_deadline_and_key_travel_with_the_request(self, host: Host) -> None:
        """And may be given one after the other; the plain wrapper keeps none of it."""
        host.answer_all = {"result": None}
        read = host.caps.files.read.options(timeout_ms=50).options(idempotency_key="k")
        host.run(read(path="a"))
        host.run(host.caps.files.read(path="a"))
        assert [(each.timeout_ms, each.idempotency_key) for each in host.requests] == [
            (50, "k"),
            (None, None),
        ]

    @pytest.mark.parametrize(
        "options",
        [
            {"timeout_ms": 0},
            {"timeout_ms": 3_600_001},
            {"timeout_ms": "5"},
            {"timeout_ms": True},
            {"idempotency_key": ""},
            {"idempotency_key": "x" * 257},
            {"idempotency_key": 5},
        ],
    )
    def test_out_of_bounds_they_are_a_validation_error(
        self, host: Host, options: dict[str, Any]
    ) -> None:
        """A slip must not become a frame that the host takes for an attack."""
        with pytest.raises(ValidationError):
            host.caps.files.read.options(**options)


class TestMissing:
    def test_nothing_is_created_for_code_that_does_not_use_it(self, host: Host) -> None:
        """The first access creates what all calls share; a listing shows all the same."""
        assert host.channel.cell_end_callbacks == []
        assert "files" in dir(host.caps)
        assert repr(host.caps.files) == repr(host.caps.files)
        assert len(host.channel.cell_end_callbacks) == 1

    def test_what_is_not_granted_has_no_wrapper(self, host: Host) -> None:
        """`hasattr` is False for functions and domains alike."""
        caps = host.caps
        assert hasattr(caps.files, "read")
        assert not hasattr(caps.files, "write")
        assert not hasattr(caps, "web")

    def test_touching_it_says_which_capability_and_which_policy(self, host: Host) -> None:
        """A PolicyDeniedError that is an AttributeError, too."""
        with pytest.raises(PolicyDeniedError, match=r"`files.delete` .* policy `reader`") as error:
            host.caps.files.delete(path="a")
        assert isinstance(error.value, CapabilityMissingError)
        assert (error.value.capability, error.value.reason, error.value.policy_id) == (
            "files.delete",
            "not_granted",
            "reader",
        )

    def test_a_near_name_is_suggested(self, host: Host) -> None:
        """The nearest granted one; without one, all of them."""
        with pytest.raises(AttributeError, match=r"did you mean `files\.read`\?"):
            _ = host.caps.files.raed
        with pytest.raises(AttributeError, match=r"did you mean `files`\?"):
            _ = host.caps.file
        with pytest.raises(AttributeError, match="granted: files, probe, time"):
            _ = host.caps.zzz

    def test_nothing_can_be_set(self, host: Host) -> None:
        """Neither a domain nor a function can be put there by the code."""
        holders: list[Any] = [host.caps, host.caps.files, host.caps.files.read]
        for holder in holders:
            with pytest.raises(AttributeError):
                holder.write = len


class TestLooks:
    def test_dir_and_repr_show_what_is_granted(self, host: Host) -> None:
        """What an agent would print to find its way."""
        caps = host.caps
        assert [name for name in dir(caps) if name.islower()] == ["files", "probe", "time"]
        assert dir(caps.files) == ["list", "read"]
        assert repr(caps) == "<caps: files, probe, time>"
        assert repr(caps.files) == "<caps.files: list, read>"
        assert repr(caps.files.read) == "<capability caps.files.read(path, max_bytes)>"
        assert caps.files.read.__doc__ == "Read a text file."

    def test_errors_are_at_hand_for_except_clauses(self, host: Host) -> None:
        """`except caps.PolicyDeniedError` needs no import."""
        assert host.caps.PolicyDeniedError is PolicyDeniedError
        assert "ValidationError" in dir(host.caps)

    def test_a_copy_is_as_good(self, host: Host) -> None:
        """Copying neither fails nor gives more."""
        again = copy.copy(host.caps)
        assert dir(again.files) == ["list", "read"]
        assert not hasattr(copy.copy(host.caps.files), "write")


class TestConcurrency:
    def test_no_more_are_sent_than_the_policy_allows(self, make_host: MakeHost) -> None:
        """The rest queue up and go in the order they were called."""
        host = make_host(concurrency=2)
        order: list[str] = []

        async def call(name: str) -> None:
            await host.caps.files.read(path=name)
            order.append(name)

        async def main() -> None:
            together = host.aio.gather(*(call(name) for name in "abcde"))
            await host.aio.sleep(0)
            for number in range(1, 6):
                assert len(host.asked()) == min(number + 1, 5)
                host.answer(f"r{number}")
                await settled(host)
            await together

        host.run(main())
        assert [request.payload["path"] for request in host.requests] == list("abcde")
        assert order == list("abcde")

    def test_a_late_caller_does_not_overtake_the_queue(self, make_host: MakeHost) -> None:
        """A slot goes to the call that waited longest, even if another asks just then."""
        host = make_host(concurrency=1)

        async def main() -> None:
            first = host.aio.create_task(host.caps.files.read(path="first"))
            queued = host.aio.create_task(host.caps.files.read(path="queued"))
            await host.aio.sleep(0)
            assert host.asked() == ["r1"]
            host.answer_all = {"result": None}
            host.answer("r1")
            await first
            late = host.aio.create_task(host.caps.files.read(path="late"))
            await host.aio.gather(queued, late)

        host.run(main())
        assert [request.payload["path"] for request in host.requests] == ["first", "queued", "late"]

    def test_a_waiter_that_is_cancelled_gives_up_its_place(self, make_host: MakeHost) -> None:
        """Its request is never sent, and the next in line gets the slot."""
        host = make_host(concurrency=1)

        async def main() -> None:
            first, second, third = (
                host.aio.create_task(host.caps.files.read(path=name)) for name in "abc"
            )
            await host.aio.sleep(0)
            assert host.asked() == ["r1"]
            second.cancel()
            await settled(host)
            host.answer_all = {"result": None}
            host.answer("r1")
            await first
            await third
            assert second.cancelled()

        host.run(main())
        assert [request.payload["path"] for request in host.requests] == ["a", "c"]

    def test_a_slot_handed_to_a_cancelled_waiter_is_handed_on(self, make_host: MakeHost) -> None:
        """Cancelled after its turn had come and before it ran: the slot is not lost."""
        host = make_host(concurrency=1)

        async def main() -> None:
            first, second, third = (
                host.aio.create_task(host.caps.files.read(path=name)) for name in "abc"
            )
            await host.aio.sleep(0)
            caller = host.caps.files.read._sender
            (turn, _) = caller._queue
            caller._release_slot()  # as the answer to the first would
            assert turn.done()
            second.cancel()
            await settled(host)
            assert host.asked() == ["r1", "r2"]
            first.cancel()
            host.answer("r2")
            await third

        host.run(main())
        assert [request.payload["path"] for request in host.requests] == ["a", "c"]

    def test_a_call_that_is_cancelled_holds_its_slot_until_it_is_answered(
        self, make_host: MakeHost
    ) -> None:
        """The host counts it until then; a new request before that would be refused there."""
        host = make_host(concurrency=1)

        async def main() -> None:
            with pytest.raises(TimeoutError):
                await host.aio.wait_for(host.caps.files.read(path="slow"), 1e-9)
            following = host.aio.create_task(host.caps.files.read(path="next"))
            await settled(host)
            assert host.asked() == ["r1"]
            host.answer("r1", result="late")
            host.answer_all = {"result": "next"}
            assert await following == "next"

        host.run(main())
        assert host.connection.in_flight == 0


async def settled(host: Host) -> None:
    """A few turns: enough for everything that can happen now to have happened."""
    for _ in range(5):
        await host.aio.sleep(0)


class TestChannel:
    def test_a_gather_travels_in_one_write(self, host: Host) -> None:
        """What is said in one turn is sent once."""

        async def main() -> None:
            together = host.aio.gather(*(host.caps.files.read(path="a") for _ in range(20)))
            await host.aio.sleep(0)
            assert len(host.channel._outgoing) == 20
            host.answer_all = {"result": None}
            await together

        host.run(main())
        assert len(host.requests) == 20

    def test_printed_text_leaves_before_a_later_request(self, host: Host) -> None:
        """What was printed before a call is seen before the call."""
        host.answer_all = {"result": None}
        host.channel._output_paid_until = float("inf")  # no send is left for it alone
        host.channel.write("before\n")
        host.run(host.caps.files.read(path="a"))
        kinds = [type(message) for message in host.received]
        assert kinds.index(OutputMessage) < kinds.index(CapabilityRequestMessage)

    def test_a_few_prints_leave_at_once_and_one_by_one(self, host: Host) -> None:
        """If the worker is killed right after them, they were sent."""
        for number in range(10):
            host.channel.write(f"{number}\n")
            host.asked()
            printed = [each.text for each in host.received if isinstance(each, OutputMessage)]
            assert printed[-1] == f"{number}\n"

    def test_a_flood_of_prints_does_not_cost_a_frame_each(self, host: Host) -> None:
        """And none of it is lost, nor out of order."""
        lines = [f"{number}\n" for number in range(5000)]
        for line in lines:
            host.channel.write(line)
        host.channel.flush()
        host.asked()
        printed = [each.text for each in host.received if isinstance(each, OutputMessage)]
        assert "".join(printed) == "".join(lines)
        assert len(printed) < len(lines) / 10

    def test_what_is_printed_in_the_middle_of_a_message_waits_for_its_end(
        self, host: Host, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The collector may end a generator at any time, and its end may print."""
        host.answer_all = {"result": None}
        pack = host.channel.connection._pack

        def collecting(message: object) -> bytes:
            packed = pack(message)
            if isinstance(message, CapabilityRequestMessage):
                host.channel.write("x" * 100_000)  # long enough to leave by itself
            return packed

        monkeypatch.setattr(host.channel.connection, "_pack", collecting)
        host.run(host.caps.files.read(path="a"))
        monkeypatch.undo()
        host.asked()
        texts = [each.text for each in host.received if isinstance(each, OutputMessage)]
        assert set("".join(texts)) == {"x"}
        assert len(host.requests) == 1

    def test_text_that_is_no_unicode_is_escaped(self, host: Host) -> None:
        """A lone surrogate must not break the channel."""
        host.channel.write("a\ud800b" + "x" * 10_000)
        host.asked()
        (message,) = [each for each in host.received if isinstance(each, OutputMessage)]
        assert message.text.startswith("a\\ud800bx")

    @pytest.mark.parametrize("seconds", [float("inf"), 1e300, 10**7])
    def test_a_wait_of_any_length_is_possible(self, host: Host, seconds: float) -> None:
        """`sleep(10**7)` waits for the wall limit; it does not overflow a system call."""
        host.channel.request("r", lambda: None, {"capability": "files.list", "payload": {}})
        host.asked()
        host.answer("r")  # wakes the poll
        Channel._idle(host.channel, seconds)

    def test_a_broken_host_ends_the_worker(
        self, host: Host, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """With nobody to serve, the process exits immediately."""

        class LeftError(Exception):
            pass

        def leave() -> None:
            raise LeftError

        monkeypatch.setattr("caps.worker.inside.channel.channel.exit_worker", leave)
        host._socket.close()
        with pytest.raises(LeftError):
            Channel._idle(host.channel, 0)
        host.channel._printed.append("x")
        with pytest.raises(LeftError):
            host.channel.flush()
