"""(5) Kinds of values that msgpack has no format for: split into plain fields, and built again.

A closed set. Each value is encoded as an array that begins with a mark (an extension that holds one
byte, its `Kind`). Nothing is hidden from `check_shape` that way: marks do not nest, and their
fields are items like any other. Splitting runs in the worker, on values of user code. Building runs
on the host and trusts nothing: a field of a wrong type or out of bounds is a ValueError, TypeError
or ArithmeticError, which the decoder translates.
"""

from __future__ import annotations

import datetime as dt
import enum
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any
from uuid import UUID

# The msgpack extensions: the bytes of an integer beyond 64 bits, and the mark of a kind.
BIG_INTEGER = 1
MARK = 2

# The types that msgpack has, in addition to containers.
LEAVES = frozenset((str, int, float, bool, type(None), bytes))

# More than a request may hold: there are many requests, but only one result.
MAX_ITEMS = 1_000_000
MAX_INTEGER_BYTES = 1 << 20
# Parsing and printing a decimal is linear; converting one to an integer is not.
MAX_DECIMAL_CHARACTERS = 100_000
# The default context of `decimal` ends at a million.
MAX_DECIMAL_EXPONENT = 2_000_000
# A fraction is reduced when it is built, which takes quadratic time.
MAX_FRACTION_BYTES = 4096

_MICROSECOND = dt.timedelta(microseconds=1)


class Kind(enum.IntEnum):
    """The kind of a marked array."""

    TUPLE = 1
    SET = 2
    FROZENSET = 3
    DICT = 4
    """Keys and values in turn, where a key is not a string."""
    DATETIME = 5
    DATE = 6
    TIME = 7
    TIMEDELTA = 8
    DECIMAL = 9
    FRACTION = 10
    COMPLEX = 11
    UUID = 12


def to_fields(value: Any) -> tuple[Kind, tuple[Any, ...]] | None:
    """The kind and the fields of a single value; None if it is of none of the kinds.

    Raises ValueError if it is beyond the bounds of the host, and whatever the methods of a subclass
    of user code raise.
    """
    for base, kind, fields in _SPLITTERS:
        if isinstance(value, base):
            return kind, fields(value)
    return None


def from_fields(kind: Kind, fields: Sequence[Any]) -> Any:
    """The value of `kind` with these fields, which are not trusted."""
    return _BUILDERS[kind](fields)


# -- splitting, in the worker --------------------------------------------------------------------


def _offset(value: dt.datetime | dt.time) -> int | None:
    """The offset from UTC in microseconds. The name of a zone and its rules are not sent."""
    offset = value.utcoffset()
    return None if offset is None else offset // _MICROSECOND


def _datetime_fields(value: dt.datetime) -> tuple[Any, ...]:
    date = (value.year, value.month, value.day)
    return (*date, *_clock_fields(value))


def _clock_fields(value: dt.datetime | dt.time) -> tuple[Any, ...]:
    moment = (value.hour, value.minute, value.second, value.microsecond)
    return (*moment, value.fold, _offset(value))


def _decimal_fields(value: Decimal) -> tuple[str]:
    text = Decimal.__str__(value)
    _check_decimal(value, text)
    return (text,)


def _fraction_fields(value: Fraction) -> tuple[int, int]:
    parts = (value.numerator, value.denominator)
    for part in parts:
        _check_fraction_part(part)
    return parts


def _check_decimal(value: Decimal, text: str) -> None:
    if len(text) > MAX_DECIMAL_CHARACTERS:
        raise ValueError(f"a decimal of {len(text)} characters is too long to send")
    if value.is_finite() and abs(value.adjusted()) > MAX_DECIMAL_EXPONENT:
        raise ValueError("a decimal with such an exponent is too large to send")


def _check_fraction_part(part: int) -> None:
    if part.bit_length() > MAX_FRACTION_BYTES * 8:
        raise ValueError("a fraction of such large integers is too large to send")


# A datetime is a date, so it comes first.
_SPLITTERS: tuple[tuple[type, Kind, Callable[[Any], tuple[Any, ...]]], ...] = (
    (dt.datetime, Kind.DATETIME, _datetime_fields),
    (dt.date, Kind.DATE, lambda value: (value.year, value.month, value.day)),
    (dt.time, Kind.TIME, _clock_fields),
    (
        dt.timedelta,
        Kind.TIMEDELTA,
        lambda value: (value.days, value.seconds, value.microseconds),
    ),
    (Decimal, Kind.DECIMAL, _decimal_fields),
    (Fraction, Kind.FRACTION, _fraction_fields),
    (complex, Kind.COMPLEX, lambda value: (value.real, value.imag)),
    (UUID, Kind.UUID, lambda value: (value.bytes,)),
)


# -- building, on the host -----------------------------------------------------------------------


def _integers(fields: Sequence[Any], count: int) -> list[int]:
    if len(fields) != count or any(type(field) is not int for field in fields):
        raise ValueError(f"expected {count} integers")
    if any(field.bit_length() > 64 for field in fields):
        raise ValueError("an integer is out of range")
    return list(fields)


def _one(fields: Sequence[Any], kind: type) -> Any:
    if len(fields) != 1 or type(fields[0]) is not kind:
        raise ValueError(f"expected one `{kind.__name__}`")
    return fields[0]


def _time(fields: Sequence[Any]) -> dt.time:
    hour, minute, second, microsecond, fold = _integers(fields[:-1], 5)
    zone = _zone(fields[-1])
    return dt.time(hour, minute, second, microsecond, zone, fold=fold)


def _zone(offset: Any) -> dt.timezone | None:
    if offset is None:
        return None
    (microseconds,) = _integers([offset], 1)
    return dt.timezone(microseconds * _MICROSECOND)


def _datetime(fields: Sequence[Any]) -> dt.datetime:
    date = dt.date(*_integers(fields[:3], 3))
    return dt.datetime.combine(date, _time(fields[3:]))


def _decimal(fields: Sequence[Any]) -> Decimal:
    text = _one(fields, str)
    if len(text) > MAX_DECIMAL_CHARACTERS:
        raise ValueError("a decimal is too long")
    value = Decimal(text)
    # Exactly as `str` formats it: no other digits, no blanks, and no NaN for other text.
    if str(value) != text:
        raise ValueError("a decimal is not in its canonical format")
    _check_decimal(value, text)
    return value


def _fraction(fields: Sequence[Any]) -> Fraction:
    if len(fields) != 2 or any(type(field) is not int for field in fields):
        raise ValueError("expected two integers")
    for field in fields:
        _check_fraction_part(field)
    return Fraction(*fields)


def _complex(fields: Sequence[Any]) -> complex:
    if len(fields) != 2 or any(type(field) is not float for field in fields):
        raise ValueError("expected two floats")
    return complex(*fields)


_BUILDERS: dict[Kind, Callable[[Sequence[Any]], Any]] = {
    Kind.TUPLE: tuple,
    Kind.DATETIME: _datetime,
    Kind.DATE: lambda fields: dt.date(*_integers(fields, 3)),
    Kind.TIME: _time,
    Kind.TIMEDELTA: lambda fields: dt.timedelta(*_integers(fields, 3)),
    Kind.DECIMAL: _decimal,
    Kind.FRACTION: _fraction,
    Kind.COMPLEX: _complex,
    Kind.UUID: lambda fields: UUID(bytes=_one(fields, bytes)),
}
