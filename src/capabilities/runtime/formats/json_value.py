"""A result as JSON: values that JSON does not have become strings or lists, marked as converted.

| value | in JSON |
|---|---|
| datetime, date, time | string, ISO 8601 |
| timedelta | string, an ISO 8601 duration in days and seconds: `P1DT3600S` |
| Decimal, Fraction, complex, UUID | string: `1.10`, `1/3`, `1+2j`, … |
| bytes | string, base64 |
| infinity, NaN | string: `inf`, `-inf`, `nan` |
| an integer of more than 4200 digits | string, hexadecimal |
| tuple; set, frozenset | a list; sorted |
| a dict with keys that are not strings | an object; a list of pairs if two keys become the same |
"""

from __future__ import annotations

import base64
import datetime as dt
import enum
import json
import math
from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any
from uuid import UUID

# Python refuses to format integers of more than 4300 digits, because that takes quadratic time.
_MAX_INTEGER_BITS = 14_000


class Spelling(enum.StrEnum):
    """How a value is represented in JSON."""

    EXACT = "exact"
    """Unchanged: reading the JSON gives the value."""
    CONVERTED = "converted"
    """Some of it is converted according to the table of this module."""
    REPR = "repr"
    """The value could not leave the sandbox; this is its `repr`."""


def to_json(value: Any) -> tuple[Any, Spelling]:
    """`value` in a form that every JSON reader accepts, and whether it was converted."""
    converter = _JsonConverter()
    found = converter.convert(value)
    return found, Spelling.CONVERTED if converter.converted else Spelling.EXACT


def safe_repr(value: Any) -> str:
    """`repr(value)`; of the JSON form if Python refuses: it holds an integer of too many digits."""
    try:
        return repr(value)
    except ValueError:
        return repr(to_json(value)[0])


class _JsonConverter:
    """Converts one value; afterwards `converted` says whether anything had to be changed."""

    def __init__(self) -> None:
        self.converted = False

    def convert(self, value: Any) -> Any:
        match value:
            case None | bool() | str():
                return value
            case dict():
                return self._dict(value)
            case list():
                return [self.convert(item) for item in value]
            case int() if value.bit_length() <= _MAX_INTEGER_BITS:
                return value
            case float() if math.isfinite(value):
                return value
        self.converted = True
        match value:
            case tuple():
                return [self.convert(item) for item in value]
            case set() | frozenset():
                return _in_order(self.convert(item) for item in value)
            case _:
                return _text(value)

    def _dict(self, value: Mapping[Any, Any]) -> Any:
        # Each part is converted once: twice at every level would take exponential time.
        pairs = [[self.convert(key), self.convert(item)] for key, item in value.items()]
        found = {_as_key(key): item for key, item in pairs}
        self.converted |= any(not isinstance(key, str) for key in value)
        return found if len(found) == len(value) else pairs


def _as_key(converted: Any) -> str:
    return converted if isinstance(converted, str) else json.dumps(converted)


def _in_order(converted: Iterable[Any]) -> list[Any]:
    """Members of a set in an order that is the same every time."""
    found = list(converted)
    if all(isinstance(one, (int, float)) for one in found):
        return sorted(found)
    return sorted(found, key=json.dumps)


def _text(value: Any) -> str:
    match value:
        case int():
            return _digits(value)
        case bytes():
            return base64.b64encode(value).decode("ascii")
        case dt.date() | dt.time():
            return value.isoformat()
        case dt.timedelta():
            return _duration(value)
        case complex():
            return str(value).strip("()")
        case Fraction():
            return f"{_digits(value.numerator)}/{_digits(value.denominator)}"
        case float() | Decimal() | UUID():
            return str(value)
        case _:
            return repr(value)


def _digits(number: int) -> str:
    return str(number) if number.bit_length() <= _MAX_INTEGER_BITS else hex(number)


def _duration(value: dt.timedelta) -> str:
    sign, size = ("-", -value) if value.days < 0 else ("", value)
    part = f".{size.microseconds:06}".rstrip("0") if size.microseconds else ""
    return f"{sign}P{size.days}DT{size.seconds}{part}S"
