"""Results on their way to the host: plain values cross as themselves, all else is refused."""

from __future__ import annotations

import datetime as dt
import math
from collections import OrderedDict, namedtuple
from typing import Any

import msgspec
import pytest

from caps.protocol.errors import ProtocolError
from caps.protocol.values import decode_value, encode_value

ROOM = 1 << 20
ext = msgspec.msgpack.Ext
encode = msgspec.msgpack.encode


def crossed(value: Any) -> Any:
    return decode_value(encode_value(value, max_bytes=ROOM))


def nested(levels: int) -> Any:
    value: Any = 0
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        False,
        0,
        -1,
        2**63,
        2**64 - 1,
        -(2**63),
        2**64,
        -(2**63) - 1,
        2**4096,
        -(2**4096),
        1.5,
        -0.0,
        math.inf,
        -math.inf,
        "",
        "é\x00\U0001f600",
        b"\x00\xff",
        [],
        {},
        [[1, [2**70]], {"a": {"b": 2**70}}],
        {"a": 1, 2: "b", 1.5: None, None: 0},
    ],
)
def test_plain_values_cross_as_themselves(value: object) -> None:
    """The value on the host equals the value in the sandbox, and has its type."""
    again = crossed(value)
    assert again == value
    assert type(again) is type(value)


def test_not_a_number_crosses() -> None:
    """A result may be NaN: it is a float like any other."""
    assert math.isnan(crossed(math.nan))


def test_the_sign_of_zero_crosses() -> None:
    """Floats cross bit for bit."""
    assert math.copysign(1, crossed(-0.0)) == -1


def test_sequences_and_sets_become_lists() -> None:
    """msgpack has one kind of sequence."""
    point = namedtuple("point", "x y")
    assert crossed((1, (2,))) == [1, [2]]
    assert crossed({3}) == [3]
    assert crossed(frozenset({4})) == [4]
    assert crossed(point(1, 2)) == [1, 2]


def test_subclasses_of_dict_become_plain_dicts() -> None:
    """An ordered dict is a dict on the host."""
    assert crossed(OrderedDict(a=1)) == {"a": 1}


@pytest.mark.parametrize(
    "value",
    [
        object(),
        1j,
        range(3),
        dt.datetime(2020, 1, 1, tzinfo=dt.UTC),
        bytearray(b"x"),
        len,
        int,
        [object()],
        {"a": object()},
        {(1, 2): 3},
        {b"a": 1},
        {2**64: 1},
        type("Text", (str,), {})("x"),
    ],
)
def test_anything_else_is_a_type_error(value: object) -> None:
    """No object of the sandbox's own making crosses; the worker sends its repr instead."""
    with pytest.raises(TypeError):
        encode_value(value, max_bytes=ROOM)


def test_depth_is_bounded_exactly() -> None:
    """Sixty-four levels cross; one more does not, on either side."""
    assert crossed(nested(64)) == nested(64)
    with pytest.raises(ValueError, match="too deeply"):
        encode_value(nested(65), max_bytes=ROOM)
    with pytest.raises(ProtocolError):
        decode_value(encode(nested(65)))


def test_size_is_bounded_exactly() -> None:
    """The limit is on the bytes that travel."""
    assert len(encode_value("x" * 30, max_bytes=31)) == 31
    with pytest.raises(ValueError, match="more than 31 bytes"):
        encode_value("x" * 31, max_bytes=31)


def test_a_huge_integer_is_refused() -> None:
    """An integer of more than a mebibyte is no result."""
    with pytest.raises(ValueError, match="too large"):
        encode_value(1 << (8 << 20), max_bytes=16 << 20)


def test_a_list_that_holds_itself_is_refused_at_once() -> None:
    """Neither a hang nor a crash: it is too deep."""
    knot: list[Any] = []
    knot.extend([knot] * 10)
    loop: dict[str, Any] = {}
    loop["self"] = loop
    for value in (knot, loop):
        with pytest.raises(ValueError, match="too deeply"):
            encode_value(value, max_bytes=ROOM)


def test_a_value_that_unfolds_without_end_is_refused() -> None:
    """Sixty lists that each hold the one before twice would fill every memory there is."""
    value: list[Any] = [0]
    for _ in range(60):
        value = [value, value]
    with pytest.raises(ValueError, match="more than 1000 bytes"):
        encode_value(value, max_bytes=1000)


def test_a_long_string_held_many_times_is_counted_each_time() -> None:
    """A gigabyte is not copied together to find that it is too much."""
    with pytest.raises(ValueError, match="more than"):
        encode_value(["x" * 1_000_000] * 1000, max_bytes=ROOM)
    with pytest.raises(ValueError, match="more than"):
        encode_value([{"k" * 1_000_000: 0}] * 1000, max_bytes=ROOM)


def test_too_many_items_are_refused() -> None:
    """The worker never sends what the host would take for an attack."""
    with pytest.raises(ValueError, match="items"):
        encode_value([None] * 1_000_001, max_bytes=8 << 20)
    assert len(crossed([None] * 999_999)) == 999_999


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xc1",
        b"\x01\x01",
        b"\x91",
        b"\x91" * 100_000,
        b"\xdd\xff\xff\xff\xff",
        b"\xa1\xff",
        encode(ext(9, b"abc")),
        encode(ext(1, b"x" * (1 << 21))),
        encode(dt.datetime(2020, 1, 1, tzinfo=dt.UTC)),
        encode([{"a": dt.datetime(2020, 1, 1, tzinfo=dt.UTC)}]),
        b"\x81" + encode(ext(1, b"abc")) + b"\x01",
        b"\x81\x91\x01\x01",
        b"\x81\x81\x01\x01\x01",
        encode({b"bytes": 1}),
        encode({"pad": "x" * 5000, "a": {(1, 2): 3}}),
        encode([0] * 1_000_001),
    ],
    ids=lambda data: data[:8].hex(),
)
def test_bytes_that_are_no_value_break_the_protocol(data: bytes) -> None:
    """Whatever the worker sends as its result, the host gets a value or a ProtocolError."""
    with pytest.raises(ProtocolError):
        decode_value(data)


def test_integers_with_one_hash_cannot_be_keys() -> None:
    """Multiples of the hash modulus collide; the host must not build a dict of them."""
    pairs = b"".join(
        encode(ext(1, (n * (2**61 - 1) << 64).to_bytes(24, "big"))) + b"\xc0"
        for n in range(1, 2001)
    )
    with pytest.raises(ProtocolError):
        decode_value(b"\xde" + (2000).to_bytes(2, "big") + pairs)
