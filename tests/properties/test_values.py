"""(5) Every value of the closed set crosses unchanged, and no bytes do worse than be refused."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import math
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import msgspec
from hypothesis import event, given
from hypothesis import strategies as st

from caps.capabilities.runtime.formats.json_value import Spelling, to_json
from caps.protocol.errors import ProtocolError
from caps.protocol.values import decode_value, encode_value
from support.hypothesis_examples import examples

EXAMPLES = examples(200)
ROOM = 1 << 20
encode = msgspec.msgpack.encode

zones = st.none() | st.builds(
    dt.timezone,
    st.timedeltas(
        min_value=dt.timedelta(hours=-23, minutes=-59), max_value=dt.timedelta(hours=23, minutes=59)
    ),
)
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.binary(max_size=20)
    | st.datetimes(timezones=zones)
    | st.dates()
    | st.times(timezones=zones)
    | st.timedeltas()
    | st.decimals(allow_nan=False)
    | st.fractions()
    | st.complex_numbers(allow_nan=False)
    | st.uuids()
)
members = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.frozensets(inner, max_size=3),
    max_leaves=6,
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.sets(members, max_size=4)
        | st.frozensets(members, max_size=4)
        | st.dictionaries(st.text(max_size=5), inner, max_size=4)
        | st.dictionaries(members, inner, max_size=4)
    ),
    max_leaves=12,
)
# Marks with any fields: what a worker may send, and an honest one would not.
marked = st.recursive(
    scalars.filter(lambda value: type(value) in (int, float, str, bytes, bool, type(None))).map(
        lambda value: value if type(value) is not int else value % 2**64
    ),
    lambda inner: st.builds(
        lambda kind, fields: [msgspec.msgpack.Ext(2, bytes((kind,))), *fields],
        st.integers(0, 14),
        st.lists(inner, max_size=10),
    ),
    max_leaves=12,
)


def shape(value: Any) -> Any:
    """The value with its types, so that 1, 1.0 and True differ, and NaN equals itself."""
    kind = type(value).__name__
    match value:
        case float() if math.isnan(value):
            return kind, "nan"
        case list() | tuple():
            return kind, [shape(item) for item in value]
        case set() | frozenset():
            return kind, sorted(repr(shape(item)) for item in value)
        case dict():
            return kind, sorted(repr((shape(key), shape(item))) for key, item in value.items())
        case dt.datetime() | dt.time():
            return kind, value.replace(tzinfo=None), value.fold, value.utcoffset()
        case float() | complex() | Decimal() | Fraction():
            return kind, repr(value)
    return kind, value


def parts(value: Any) -> Iterator[Any]:
    """`value` and everything in it."""
    yield value
    match value:
        case list() | tuple() | set() | frozenset():
            for item in value:
                yield from parts(item)
        case dict():
            for key, item in value.items():
                yield from parts(key)
                yield from parts(item)


@EXAMPLES
@given(value=values)
def test_every_value_of_the_closed_set_crosses_as_it_is(value: Any) -> None:
    """Value for value and type for type, at any depth, as members and as keys."""
    again = decode_value(encode_value(value, max_bytes=ROOM))
    assert shape(again) == shape(value)


@EXAMPLES
@given(value=values)
def test_a_dataclass_crosses_as_its_fields(value: Any) -> None:
    """Whatever they hold."""
    held = dataclasses.make_dataclass("Held", ["first", "second"])(value, [value])
    again = decode_value(encode_value(held, max_bytes=ROOM))
    assert shape(again) == shape({"first": value, "second": [value]})


@EXAMPLES
@given(value=values, flips=st.lists(st.tuples(st.integers(0), st.integers(1, 255)), max_size=4))
def test_a_changed_byte_gives_another_value_or_a_protocol_error(
    value: Any, flips: list[tuple[int, int]]
) -> None:
    """And the result is of the closed set: it can be sent again, and encoded."""
    data = bytearray(encode_value(value, max_bytes=ROOM))
    for place, flip in flips:
        data[place % len(data)] ^= flip
    holds_only_known_values(bytes(data))


@EXAMPLES
@given(data=marked.map(encode) | st.binary(max_size=200))
def test_any_bytes_are_a_value_or_a_protocol_error(data: bytes) -> None:
    """Marks with any fields, nested in any way, and bytes that are nothing at all."""
    holds_only_known_values(data)


def holds_only_known_values(data: bytes) -> None:
    try:
        value = decode_value(data)
    except ProtocolError:
        event("refused")
        return
    event(f"a {type(value).__name__}")
    assert encode_value(value, max_bytes=ROOM)
    json.dumps(to_json(value)[0], allow_nan=False)


@EXAMPLES
@given(value=values)
def test_json_is_exact_or_says_that_it_is_not(value: Any) -> None:
    """What any reader of JSON reads is the value itself unless it is marked as converted."""
    spelt, spelling = to_json(value)
    again = json.loads(json.dumps(spelt, allow_nan=False))
    if spelling is Spelling.EXACT:
        assert shape(again) == shape(value)
    else:
        assert shape(again) != shape(value)
    plain = (type(None), bool, int, float, str, list, dict)
    assert all(type(part) in plain for part in parts(again))
