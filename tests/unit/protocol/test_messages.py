"""(5) Messages: a closed set of frozen structs, tagged, bounded, with nothing unknown in them."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest

from caps.protocol.messages import (
    CapabilityRequestMessage,
    FromHost,
    FromWorker,
    Message,
    OutputMessage,
    ResultMessage,
    StartedMessage,
)

from_worker = msgspec.msgpack.Decoder(FromWorker)
from_host = msgspec.msgpack.Decoder(FromHost)

# Every field that specification 003 proposes, and no other.
REQUEST: dict[str, Any] = {
    "type": "capability_request",
    "id": "e1:1",
    "timestamp": 1.5,
    "request_id": "r1",
    "capability": "files.read",
    "payload": {"path": "notes.txt"},
    "idempotency_key": None,
    "timeout_ms": None,
}


def request_without(*names: str) -> dict[str, Any]:
    return {name: value for name, value in REQUEST.items() if name not in names}


def decoded(wire: dict[str, Any]) -> Any:
    return from_worker.decode(msgspec.msgpack.encode(wire))


def request() -> CapabilityRequestMessage:
    return CapabilityRequestMessage(**request_without("type"))


class TestCapabilityRequest:
    def test_has_exactly_the_fields_of_the_specification_on_the_wire(self) -> None:
        """The wire form is a msgpack map of the eight fields, `type` among them."""
        assert msgspec.msgpack.decode(msgspec.msgpack.encode(request())) == REQUEST

    def test_says_its_type_as_an_attribute(self) -> None:
        """`type` reads as the specification writes it."""
        assert request().type == "capability_request"

    def test_leaves_key_and_timeout_to_be_none(self) -> None:
        """The two optional fields default to None, on the wire as well."""
        message = decoded(request_without("idempotency_key", "timeout_ms"))
        assert message == request()

    @pytest.mark.parametrize("name", ["id", "timestamp", "request_id", "capability", "payload"])
    def test_needs_every_other_field(self, name: str) -> None:
        """A request without a mandatory field is invalid."""
        with pytest.raises(msgspec.ValidationError, match=name):
            decoded(request_without(name))

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("id", ""),
            ("id", "x" * 257),
            ("id", 1),
            ("timestamp", "now"),
            ("timestamp", -1.0),
            ("timestamp", float("nan")),
            ("timestamp", float("inf")),
            ("request_id", ""),
            ("request_id", "x" * 257),
            ("capability", "ab"),
            ("capability", "x" * 130),
            ("payload", []),
            ("payload", None),
            ("payload", {1: 2}),
            ("payload", "{}"),
            ("idempotency_key", ""),
            ("idempotency_key", 7),
            ("timeout_ms", 0),
            ("timeout_ms", 3_600_001),
            ("timeout_ms", True),
            ("timeout_ms", 1.5),
        ],
    )
    def test_bounds_every_field(self, name: str, value: object) -> None:
        """A field of another type or out of its bounds is refused at the wire."""
        with pytest.raises(msgspec.ValidationError):
            decoded({**REQUEST, name: value})


@pytest.mark.parametrize("extra", ["execution_id", "principal", "scope", "types"])
def test_an_unknown_field_is_refused(extra: str) -> None:
    """Nobody can add a field that a later version might trust."""
    with pytest.raises(msgspec.ValidationError, match="unknown field"):
        decoded({**REQUEST, extra: "x"})


@pytest.mark.parametrize("tag", ["pickle", "", None, 1, ["capability_request"]])
def test_an_unknown_type_is_refused(tag: object) -> None:
    """The set of messages is closed."""
    with pytest.raises(msgspec.ValidationError):
        decoded({**REQUEST, "type": tag})


def test_a_message_without_type_is_refused() -> None:
    """The tag is what tells messages apart, so it cannot be left out."""
    with pytest.raises(msgspec.ValidationError, match="type"):
        decoded(request_without("type"))


def test_the_two_directions_share_no_message() -> None:
    """A side can decode only what the other side may say."""
    assert set(get_args(FromWorker)) & set(get_args(FromHost)) == set()
    with pytest.raises(msgspec.ValidationError):
        from_host.decode(msgspec.msgpack.encode(request()))


@pytest.mark.parametrize("kind", [*get_args(FromWorker), *get_args(FromHost)])
def test_every_message_is_frozen_and_closed(kind: type[Message]) -> None:
    """Each message type forbids change and unknown fields, and its tag is its `type`."""
    config = kind.__struct_config__
    assert (config.frozen, config.forbid_unknown_fields, config.tag_field) == (True, True, "type")
    assert config.tag == kind.type  # type: ignore[attr-defined]


def test_a_message_cannot_be_changed() -> None:
    """What was received stays what was received."""
    message = request()
    with pytest.raises(AttributeError):
        message.capability = "files.delete"  # type: ignore[misc]


def test_fields_are_given_by_name_only() -> None:
    """No order of arguments can mix up two strings."""
    with pytest.raises(TypeError):
        StartedMessage("e1:1", 1.0)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    "message",
    [
        request(),
        OutputMessage(id="e1:1", timestamp=0.0, text="é\x00\n"),
        ResultMessage(id="e1:1", timestamp=1.0, value=b"\xff\x00", value_is_repr=True),
    ],
)
def test_messages_round_trip(message: Message) -> None:
    """What is encoded decodes to an equal message of the same class."""
    again = from_worker.decode(msgspec.msgpack.encode(message))
    assert (type(again), again) == (type(message), message)


def test_bytes_after_a_message_are_refused() -> None:
    """A body is one message and nothing else."""
    with pytest.raises(msgspec.DecodeError, match="trailing"):
        from_worker.decode(msgspec.msgpack.encode(REQUEST) + b"\x00")
