"""(5) Frames: a length and that many bytes, with every limit checked before anything is built."""

from __future__ import annotations

import datetime as dt
import enum
import json
import subprocess
import sys
from typing import Any

import msgspec
import pytest

from caps.protocol.errors import ProtocolError
from caps.protocol.framing import (
    SCALAR_KEYS,
    TEXT_KEYS,
    FrameLimits,
    FrameReader,
    check_json_like,
    check_json_text,
    check_shape,
    frame,
    pack,
)

SMALL = FrameLimits(max_frame_bytes=16, max_depth=4, max_items=8)
encode = msgspec.msgpack.encode
ROOMY = FrameLimits(max_items=1_000_000)
PADDING = "x" * 4096  # makes a body large enough for the deep check


def violation_of(error: pytest.ExceptionInfo[ProtocolError]) -> str:
    return str(error.value.violation)


def nested(levels: int, leaf: Any = 0) -> Any:
    """`leaf` inside `levels` lists."""
    for _ in range(levels):
        leaf = [leaf]
    return leaf


class TestFrame:
    def test_is_a_big_endian_length_and_the_body(self) -> None:
        """Four bytes of length, then the body as it is."""
        assert frame(b"abc") == b"\x00\x00\x00\x03abc"

    def test_of_the_largest_size_passes(self) -> None:
        """The limit itself is allowed."""
        assert FrameReader(SMALL).feed(frame(b"x" * 16, SMALL)) == [b"x" * 16]

    def test_over_the_limit_is_not_made(self) -> None:
        """We never send what the peer would refuse."""
        with pytest.raises(ProtocolError) as error:
            frame(b"x" * 17, SMALL)
        assert violation_of(error) == "frame_too_large"


class TestFrameReader:
    def test_gives_all_frames_of_one_chunk_in_order(self) -> None:
        """Many frames may come in one read."""
        data = frame(b"one") + frame(b"") + frame(b"three")
        assert FrameReader().feed(data) == [b"one", b"", b"three"]

    def test_joins_a_frame_that_comes_byte_by_byte(self) -> None:
        """Where a read ends says nothing about where a frame ends."""
        reader = FrameReader()
        data = frame(b"hello") + frame(b"world")
        bodies = [body for byte in data for body in reader.feed(bytes([byte]))]
        assert (bodies, reader.pending) == ([b"hello", b"world"], 0)

    def test_tells_how_much_of_a_frame_is_held(self) -> None:
        """A half frame is pending; a whole one is not."""
        reader = FrameReader()
        assert (reader.feed(frame(b"hello")[:6]), reader.pending) == ([], 6)

    @pytest.mark.parametrize("announced", [17, 2**31, 2**32 - 1])
    def test_refuses_a_length_over_the_limit_before_its_body(self, announced: int) -> None:
        """Four bytes are enough to refuse; not a byte of the body has to come."""
        with pytest.raises(ProtocolError) as error:
            FrameReader(SMALL).feed(announced.to_bytes(4, "big"))
        assert violation_of(error) == "frame_too_large"


class TestDepth:
    def test_allows_the_limit_and_refuses_one_more(self) -> None:
        """Sixty-four levels are data, sixty-five are an attack."""
        check_json_like(nested(64))
        with pytest.raises(ProtocolError) as error:
            check_json_like(nested(65))
        assert violation_of(error) == "too_deep"

    def test_counts_objects_and_arrays_alike(self) -> None:
        """Depth is depth, whatever it is made of."""
        with pytest.raises(ProtocolError) as error:
            check_json_like({"a": [{"b": ({"c": 1},)}]}, FrameLimits(max_depth=4))
        assert violation_of(error) == "too_deep"

    def test_of_a_scalar_is_nothing(self) -> None:
        """Text is not walked into, however long it is."""
        for scalar in ("x" * 1000, 1, 1.5, None, True):
            check_json_like(scalar, FrameLimits(max_depth=0))

    def test_costs_no_stack(self) -> None:
        """Data far deeper than the interpreter's own limit is refused like any other."""
        with pytest.raises(ProtocolError) as error:
            check_json_like(nested(100_000))
        assert violation_of(error) == "too_deep"


class Colour(enum.Enum):
    RED = "red"


class TestCheckJsonLike:
    @pytest.mark.parametrize(
        "value",
        [None, True, 0, -(2**63), 1.5, "", [], {}, {"a": [1, {"b": None}]}, (1, 2), Colour.RED],
    )
    def test_passes_json_like_data(self, value: object) -> None:
        """Tuples and enum members have their own JSON form, so they pass too."""
        check_json_like(value)

    @pytest.mark.parametrize(
        "value",
        [
            float("nan"),
            float("inf"),
            float("-inf"),
            b"bytes",
            bytearray(b"x"),
            {1},
            range(3),
            dt.datetime(2020, 1, 1, tzinfo=dt.UTC),
            msgspec.msgpack.Ext(5, b"x"),
            object(),
            {1: 2},
            {None: 1},
            {("a",): 1},
            {b"a": 1},
        ],
    )
    def test_refuses_everything_else(self, value: object) -> None:
        """What JSON has no form for is refused, however deep it sits."""
        for holder in (value, {"a": [value]}):
            with pytest.raises(ProtocolError) as error:
                check_json_like(holder)
            assert violation_of(error) == "not_json_like"

    def test_allows_the_deepest_and_refuses_one_more(self) -> None:
        """The depth limit is exact."""
        check_json_like(nested(4), SMALL)
        with pytest.raises(ProtocolError) as error:
            check_json_like(nested(5), SMALL)
        assert violation_of(error) == "too_deep"

    def test_allows_the_most_items_and_refuses_one_more(self) -> None:
        """The limit on items holds across all containers together."""
        check_json_like([[1, 2, 3], [4, 5, 6]], SMALL)
        check_json_like({"a": [0] * 6}, SMALL)
        for value in (
            [[1, 2, 3], [4, 5, 6, 7]],
            [0] * 9,
            {"a": [0] * 7},
            {"a": {"b": {"c": [0, 0, 0]}}},
        ):
            with pytest.raises(ProtocolError) as error:
                check_json_like(value, SMALL)
            assert violation_of(error) == "too_many_items"

    def test_of_data_that_holds_itself_is_refused_immediately(self) -> None:
        """A list that holds itself is too deep, however often it does."""
        knot: list[Any] = []
        knot.extend([knot] * 10)
        with pytest.raises(ProtocolError) as error:
            check_json_like({"a": knot})
        assert violation_of(error) == "too_deep"

    def test_of_data_that_unfolds_without_end_is_refused(self) -> None:
        """Sixty lists that each hold the one before twice stand for a quintillion items."""
        value: list[Any] = [0]
        for _ in range(60):
            value = [value, value]
        with pytest.raises(ProtocolError) as error:
            check_json_like(value, FrameLimits(max_items=1000))
        assert violation_of(error) == "too_many_items"


EVERY_KIND: list[Any] = [
    None, True, False, 0, 127, 128, 255, 256, 65535, 65536, 2**32, 2**64 - 1, -1, -32, -33, -129,
    -32769, -(2**31) - 1, -(2**63), 1.5, "", "x" * 31, "x" * 32, "x" * 255, "x" * 256, "x" * 65536,
    b"", b"x" * 255, b"x" * 256, b"x" * 65536, [], [0] * 15, [0] * 16, [0] * 65536, {},
    {str(n): n for n in range(15)}, {str(n): n for n in range(16)},
    {str(n): n for n in range(65536)}, *(msgspec.msgpack.Ext(5, b"x" * size)
    for size in (0, 1, 2, 3, 4, 8, 16, 17, 255, 256, 65536)),
]  # fmt: skip


class TestCheckShape:
    @pytest.mark.parametrize("value", EVERY_KIND, ids=lambda value: f"{type(value).__name__}")
    def test_steps_over_every_kind_of_item(self, value: object) -> None:
        """A forbidden key is found behind an item of any kind and size: no item is misread."""
        allowed = encode([PADDING, value, {"a": value}, {"key": 1}])
        check_shape(allowed, TEXT_KEYS, ROOMY)
        check_shape(allowed, SCALAR_KEYS, ROOMY)
        with pytest.raises(ProtocolError) as error:
            check_shape(encode([PADDING, value, {"a": value}, {(1, 2): 1}]), SCALAR_KEYS, ROOMY)
        assert violation_of(error) == "not_json_like"

    @pytest.mark.parametrize("key", [1, -1, 2**40, 1.5, True, None])
    def test_tells_text_keys_from_scalar_keys(self, key: object) -> None:
        """A message has text keys only; a result may have scalars, as Python dicts do."""
        body = encode([PADDING, {key: 1}])
        check_shape(body, SCALAR_KEYS)
        with pytest.raises(ProtocolError):
            check_shape(body, TEXT_KEYS)

    @pytest.mark.parametrize("key", [b"\x91\x01", b"\x81\x01\x01", b"\xc4\x01x", b"\xd4\x01x"])
    def test_refuses_keys_that_are_arrays_maps_bytes_or_extensions(self, key: bytes) -> None:
        """A value whose hash the sender could choose is not a valid key."""
        body = b"\x92" + encode(PADDING) + b"\x81" + key + b"\x01"
        for keys in (TEXT_KEYS, SCALAR_KEYS):
            with pytest.raises(ProtocolError):
                check_shape(body, keys)

    def test_looks_at_keys_and_not_at_values(self) -> None:
        """A number is fine as a value; only its place tells."""
        check_shape(encode({PADDING: 1, "a": 2, "b": {"c": 3}, "d": [4]}))

    def test_refuses_more_items_than_the_limit(self) -> None:
        """The count is what is announced, before an item has been read."""
        limits = FrameLimits(max_items=100)
        check_shape(encode([PADDING, *[0] * 99]), limits=limits)
        for body in (encode([PADDING, *[0] * 100]), b"\xdd\xff\xff\xff\xff" + encode(PADDING)):
            with pytest.raises(ProtocolError) as error:
                check_shape(body, limits=limits)
            assert violation_of(error) == "too_many_items"

    def test_leaves_broken_bytes_to_the_decoder(self) -> None:
        """Truncated bytes, and bytes after the end, are malformed and not its business."""
        whole = encode([PADDING, {"a": 1}])
        for body in (whole[:-1], whole + b"\x81\x01\x01", b"\xc1" * 5000):
            check_shape(body)

    def test_finds_colliding_keys_without_building_a_dict(self) -> None:
        """A frame of tuples with one and the same hash would keep a dict busy for hours."""
        keys = colliding_keys(2000)
        assert len({hash(key) for key in keys}) == 1
        body = b"\x81\xa1a\xde" + len(keys).to_bytes(2, "big")
        body += b"".join(encode(list(key)) + b"\xc0" for key in keys)
        with pytest.raises(ProtocolError):
            check_shape(body, SCALAR_KEYS)


def colliding_keys(count: int) -> list[tuple[int, int]]:
    """Pairs of integers with one hash, from how CPython hashes tuples."""
    prime_1, prime_2, prime_5 = 11400714785074694791, 14029467366897019727, 2870177450012600261
    inverse = pow(prime_2, -1, 2**64)
    found: list[tuple[int, int]] = []
    first = 1
    while len(found) < count:
        mixed = (prime_5 + first * prime_2) % 2**64
        rotated = ((mixed << 31) | (mixed >> 33)) % 2**64
        second = (12345 - rotated * prime_1) * inverse % 2**64
        if second < 2**61 - 1:
            found.append((first, second))
        first += 1
    return found


@pytest.mark.parametrize(
    "text",
    [
        "x" * 100_000,
        "x" * 100_000 + "\U0001f600",
        "\U0001f600" + "x" * 200_000,
        "\u4e2d" * 50_000,
        "\xe9" * 50_000,
        "x" * 70_000 + "\u4e2d",
    ],
)
def test_the_memory_of_a_body_is_known_before_it_is_decoded(text: str) -> None:
    """One wide character can make a string four times as large as its bytes."""
    held = check_shape(encode({"a": text, "b": [[], {}, 0.5, "é"]}))
    assert sys.getsizeof(text) <= held <= 4 * len(text) + len(text.encode()) + 2000


def test_items_count_with_their_objects() -> None:
    """An empty list of one byte is an object of many."""
    value: list[Any] = [[{}] for _ in range(5000)]
    decoded_bytes = 5000 * (sys.getsizeof([{}]) + sys.getsizeof({}) + 8)
    assert check_shape(encode(value)) >= decoded_bytes


class TestTextBeforeItIsDecoded:
    @pytest.mark.parametrize(
        "data",
        [
            b'{"plan":[' + b"[]," * 200_000 + b"1]}",
            b"[" + b'"",' * 200_001 + b'""]',
            b"{" + b'"a":{' * 200_001,
            b'["\\"",' + b"1," * 200_001 + b"1]",
            b'["\\\\",' + b"1," * 200_001 + b"1]",
        ],
        ids=["arrays", "strings", "objects", "after a quote", "after a backslash"],
    )
    def test_too_many_items_are_refused(self, data: bytes) -> None:
        """Whatever is decoded afterwards has a bounded number of objects."""
        with pytest.raises(ProtocolError, match="items"):
            check_json_text(data)

    def test_what_is_in_strings_is_not_counted(self) -> None:
        """Code and prose have as many commas and brackets as they like."""
        check_json_text(json.dumps({"code": '[{,"\\' * 300_000, "n": list(range(1000))}).encode())


def test_a_packed_value_is_plain_msgpack() -> None:
    """Whoever packed it."""
    value = {"a": [1, "x" * 1000, None], "b": b"y"}
    assert pack(value) == encode(value)


NO_MEMORY = """
import resource
from caps.protocol.framing import pack

value = [b"x" * 300] * 100_000
with open("/proc/self/statm") as file:
    mapped = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (mapped + 4_000_000,) * 2)
try:
    pack(value)
except MemoryError:
    print("raised")
"""


@pytest.mark.process
def test_a_value_without_memory_for_its_bytes_is_an_error() -> None:
    """The process lives on, and can say so."""
    done = subprocess.run((sys.executable, "-c", NO_MEMORY), capture_output=True, check=True)
    assert done.stdout == b"raised\n"
