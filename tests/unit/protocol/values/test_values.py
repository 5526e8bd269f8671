"""Results on their way to the host: plain values cross as themselves, all else is refused."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import math
from collections import Counter, OrderedDict, namedtuple
from decimal import Decimal
from fractions import Fraction
from typing import Any
from uuid import UUID

import msgspec
import pytest

from caps.protocol.errors import ProtocolError
from caps.protocol.values import bounded_hashing, decode_value, encode_value

ROOM = 1 << 20
ext = msgspec.msgpack.Ext
encode = msgspec.msgpack.encode
SUMMER = dt.timezone(dt.timedelta(hours=2, microseconds=1), "SUMMER")


def marked(kind: int, *fields: Any) -> bytes:
    """A marked array as a worker sends it, with fields of any kind."""
    return encode([ext(2, bytes((kind,))), *fields])


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
        (),
        (1, (2,), [3]),
        set(),
        {1, "a", None, 2.5, (1, "b"), frozenset({3})},
        frozenset(),
        frozenset({2**70, b"x"}),
        {(1, 2): {"a": {3}}, b"k": 1, 2**64: [0], dt.date(2020, 1, 1): 2},
        dt.datetime(2020, 2, 29, 23, 59, 59, 999999),
        dt.datetime(2020, 1, 1, tzinfo=dt.UTC),
        dt.datetime(1, 1, 1, tzinfo=SUMMER),
        dt.datetime.max,
        dt.date.min,
        dt.time(1, 2, 3, 4),
        dt.time(tzinfo=SUMMER),
        dt.timedelta.min,
        dt.timedelta.max,
        Decimal("-1.10"),
        Decimal("1E+999999"),
        Decimal("Infinity"),
        Fraction(-1, 3),
        1j,
        complex(math.inf, -0.0),
        UUID(int=2**128 - 1),
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


def test_a_decimal_that_is_no_number_crosses() -> None:
    """Even one that signals, which nothing can be compared with."""
    for text in ("NaN", "-NaN123", "sNaN"):
        assert str(crossed(Decimal(text))) == text


def test_the_fold_of_a_time_crosses() -> None:
    """The second of two equal hours stays the second."""
    assert crossed(dt.datetime(2020, 10, 25, 2, 30, fold=1)).fold == 1
    assert crossed(dt.time(2, 30, fold=1)).fold == 1


def test_a_zone_crosses_as_its_offset() -> None:
    """Neither the name nor the rules of a zone leave the sandbox."""

    class Odd(dt.tzinfo):
        def utcoffset(self, _when: dt.datetime | None) -> dt.timedelta:
            return dt.timedelta(minutes=-90)

        def dst(self, _when: dt.datetime | None) -> None: ...

        def tzname(self, _when: dt.datetime | None) -> str:
            return "odd"

    for zone in (Odd(), dt.timezone(dt.timedelta(minutes=-90), "odd")):
        again = crossed(dt.datetime(2020, 1, 1, tzinfo=zone))
        assert again.tzinfo == dt.timezone(dt.timedelta(minutes=-90))
        assert again.tzname() == "UTC-01:30"


def test_what_has_a_plainer_form_crosses_as_that() -> None:
    """Classes of the sandbox's own do not exist on the host; what they hold does."""
    point = namedtuple("point", "x y")

    class Colour(enum.Enum):
        RED = "red"
        BOTH = ("red", {"blue"})

    class Size(enum.IntFlag):
        SMALL = 1
        LARGE = 2

    @dataclasses.dataclass(slots=True)
    class Item:
        name: str
        parts: list[Item] = dataclasses.field(default_factory=list)

    cases: list[tuple[object, object]] = [
        (point(1, (2,)), (1, (2,))),
        (Colour.RED, "red"),
        (Colour.BOTH, ("red", {"blue"})),
        (Size.SMALL | Size.LARGE, 3),
        ({Colour.RED: 1}, {"red": 1}),
        (Item("a", [Item("b")]), {"name": "a", "parts": [{"name": "b", "parts": []}]}),
        (OrderedDict(a=1), {"a": 1}),
        (Counter("aab"), {"a": 2, "b": 1}),
        (bytearray(b"x"), b"x"),
        *((type("Own", (base,), {})(held), held) for base, held in (
            (str, "x"), (bytes, b"x"), (int, 5), (int, 2**80), (float, 1.5), (list, [1]),
            (dict, {"a": 1}), (set, {1}), (frozenset, frozenset({1})), (tuple, (1,)),
            (Decimal, Decimal("1.5")), (Fraction, Fraction(1, 2)), (complex, 1j),
        )),
    ]  # fmt: skip
    for value, plainer in cases:
        again = crossed(value)
        assert again == plainer
        assert type(again) is type(plainer)


def test_methods_of_a_subclass_are_not_asked() -> None:
    """A subclass is what its base holds, whatever it says of itself."""

    class Deceptive(list[int]):
        def __iter__(self) -> Any:
            raise KeyboardInterrupt

        def __len__(self) -> int:
            return 0

    class Text(str):
        __slots__ = ()

        def __str__(self) -> str:
            raise KeyboardInterrupt

        def __len__(self) -> int:
            raise KeyboardInterrupt

    assert crossed(Deceptive([1, 2])) == [1, 2]
    assert crossed(Text("x")) == "x"


@dataclasses.dataclass(frozen=True)
class Hashed:
    """A dataclass that may be a member; a dict may not."""

    name: str


@dataclasses.dataclass
class Broken:
    """A dataclass whose field cannot be read."""

    name: str = "x"

    def __getattribute__(self, name: str) -> Any:
        if name == "name":
            raise LookupError(name)
        return object.__getattribute__(self, name)


class BrokenZone(dt.tzinfo):
    def utcoffset(self, _when: dt.datetime | None) -> dt.timedelta:
        raise LookupError("zone")

    def dst(self, _when: dt.datetime | None) -> None: ...

    def tzname(self, _when: dt.datetime | None) -> None: ...


class Letter(enum.Enum):
    A = "a"


class HashableList(list[int]):
    def __hash__(self) -> int:  # type: ignore[override]
        return 1


@pytest.mark.parametrize(
    "value",
    [
        object(),
        range(3),
        len,
        int,
        Hashed,
        Letter,
        [object()],
        {"a": object()},
        {object(): 1},
        {Hashed("a")},
        {Hashed("a"): 1},
        {(1, HashableList())},
        {Letter.A, "a"},
        {Letter.A: 1, "a": 2},
        {2**9000},
        {Decimal("1" * 3000)},
        Broken(),
        dt.datetime(2020, 1, 1, tzinfo=BrokenZone()),
    ],
)
def test_anything_else_is_a_type_error(value: object) -> None:
    """It does not cross, nor does what holds it; the worker sends its repr instead."""
    with pytest.raises(TypeError):
        encode_value(value, max_bytes=ROOM)


@pytest.mark.parametrize(
    "value",
    [
        Decimal("1" * 100_001),
        Decimal("1E+2000001"),
        Decimal("1E-2000001"),
        Fraction(1, 2**40_000),
    ],
    ids=["digits", "exponent", "negative exponent", "fraction"],
)
def test_numbers_out_of_bounds_are_refused(value: object) -> None:
    """The host would spend quadratic time on them."""
    with pytest.raises(ValueError, match="too l"):
        encode_value(value, max_bytes=ROOM)


@pytest.mark.parametrize("value", [(), set(), dt.date(2020, 1, 1), Decimal(1), {1: 2}, {}, []])
def test_a_marked_value_counts_as_a_level(value: object) -> None:
    """What the worker can send is what the host takes, at every depth."""
    sent = 0
    for depth in range(60, 67):
        deep: Any = value
        for _ in range(depth):
            deep = [deep]
        try:
            data = encode_value(deep, max_bytes=ROOM)
        except ValueError:
            continue
        assert decode_value(data) == deep
        sent += 1
    assert 4 <= sent <= 5


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
    """An integer of more than a mebibyte is not a valid result."""
    with pytest.raises(ValueError, match="too large"):
        encode_value(1 << (8 << 20), max_bytes=16 << 20)


def test_a_list_that_holds_itself_is_refused_immediately() -> None:
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
        encode({1: 2}),
        encode(ext(2, b"\x01")),
        encode([1, ext(2, b"\x01")]),
        encode({"a": ext(2, b"\x01")}),
        encode([ext(2, b"\x01"), ext(2, b"\x01")]),
        encode([ext(2, b""), 1]),
        encode([ext(2, b"\x01\x01"), 1]),
        marked(0),
        marked(13),
        marked(255),
        marked(2, [1]),
        marked(2, {}),
        marked(3, [ext(2, b"\x02")]),
        marked(2, [ext(2, b"\x01"), [1]]),
        marked(2, ext(1, b"\x01" * 1026)),
        marked(4, 1),
        marked(4, [1], 2),
        marked(5),
        marked(5, 2020, 1, 1, 0, 0, 0, 0, 0),
        marked(5, 0, 1, 1, 0, 0, 0, 0, 0, None),
        marked(5, 2023, 2, 29, 0, 0, 0, 0, 0, None),
        marked(5, 2020, 1, 1, 24, 0, 0, 0, 0, None),
        marked(5, 2020, 1, 1, 0, 0, 0, 0, 2, None),
        marked(5, 2020, 1, 1, 0, 0, 0, 0, 0, 86_400_000_000),
        marked(5, 2020, 1, 1, 0, 0, 0, 0, 0, "UTC"),
        marked(5, 2020.0, 1, 1, 0, 0, 0, 0, 0, None),
        marked(5, True, 1, 1, 0, 0, 0, 0, 0, None),
        marked(5, b"\x07\xe4\x01\x01\x00\x00\x00\x00\x00\x00"),
        marked(6, b"\x07\xe4\x01\x01"),
        marked(6, 2020, 1, 1, 1),
        marked(6, 2020, ext(1, b"\x01" * 99), 1),
        marked(7, 0, 0, 0, 0, 0),
        marked(8, 10**9, 0, 0),
        marked(8, 2**63, 2**63, 2**63),
        marked(9, "1" * 100_001),
        marked(9, "1E+2000001"),
        marked(9, "1E+99999999999999999999"),
        marked(9, " 1"),
        marked(9, "1_0"),
        marked(9, "\u0661"),
        marked(9, "x"),
        marked(9, 1),
        marked(9),
        marked(10, 1, 0),
        marked(10, 1, 2.0),
        marked(10, 1, ext(1, b"\x01" * 5000)),
        marked(11, 1, 2),
        marked(11, "1j", 0.0),
        marked(12, b"\x00" * 15),
        marked(12, "0" * 32),
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


COLLIDING = [n * (2**61 - 1) for n in range(1, 60_000)]


@pytest.mark.parametrize("kind", [2, 4], ids=["set", "dict"])
def test_members_whose_hashes_collide_do_not_hold_the_host(
    kind: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sixty thousand integers with one hash would be compared two thousand million times."""
    monkeypatch.setattr(bounded_hashing, "_MAX_SECONDS", 0.2)
    members = [ext(1, n.to_bytes(12, "big")) for n in COLLIDING]
    with pytest.raises(ProtocolError, match="collide"):
        decode_value(marked(kind, *(part for member in members for part in (member, member))))


def test_a_large_honest_set_crosses() -> None:
    """Time is watched, and an honest million members take a fraction of it."""
    members = set(range(0, 10**9, 1001))
    assert len(members) > 900_000
    assert decode_value(encode_value(members, max_bytes=8 << 20)) == members
