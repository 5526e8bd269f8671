"""A result as JSON: what JSON has no form for becomes text or a list, and it is said that it did.

| value | in JSON |
|---|---|
| datetime, date, time | text, ISO 8601 |
| timedelta | text, an ISO 8601 duration in days and seconds: `P1DT3600S` |
| Decimal, Fraction, complex, UUID | text: `1.10`, `1/3`, `1+2j`, … |
| bytes | text, base64 |
| infinity, NaN | text: `inf`, `-inf`, `nan` |
| an integer of more than 4200 digits | text, hexadecimal |
| tuple; set, frozenset | a list; sorted |
| a dict with keys that are no text | an object; a list of pairs, if two keys are spelt alike |
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

# Python refuses to spell integers of more than 4300 digits, since that takes quadratic time.
_MAX_INTEGER_BITS = 14_000


class Spelling(enum.StrEnum):
    """How a value stands in JSON."""

    EXACT = "exact"
    """As it is: reading the JSON gives the value."""
    CONVERTED = "converted"
    """Some of it is spelt as the table of this module says."""
    REPR = "repr"
    """The value could not leave the sandbox; this is the text of it."""


def json_form(value: Any) -> tuple[Any, Spelling]:
    """`value` as every reader of JSON takes it, and whether that is what it was."""
    speller = _Speller()
    spelt = speller.spelt(value)
    return spelt, Spelling.CONVERTED if speller.converted else Spelling.EXACT


class _Speller:
    def __init__(self) -> None:
        self.converted = False

    def spelt(self, value: Any) -> Any:
        match value:
            case None | bool() | str():
                return value
            case dict():
                return self._dict(value)
            case list():
                return [self.spelt(item) for item in value]
            case int() if value.bit_length() <= _MAX_INTEGER_BITS:
                return value
            case float() if math.isfinite(value):
                return value
        self.converted = True
        match value:
            case tuple():
                return [self.spelt(item) for item in value]
            case set() | frozenset():
                return _in_order(self.spelt(item) for item in value)
            case _:
                return _text(value)

    def _dict(self, value: Mapping[Any, Any]) -> Any:
        # Each part is spelt once: twice at every level would be without end.
        pairs = [[self.spelt(key), self.spelt(item)] for key, item in value.items()]
        spelt = {_as_key(key): item for key, item in pairs}
        self.converted |= any(not isinstance(key, str) for key in value)
        return spelt if len(spelt) == len(value) else pairs


def _as_key(spelt: Any) -> str:
    return spelt if isinstance(spelt, str) else json.dumps(spelt)


def _in_order(spelt: Iterable[Any]) -> list[Any]:
    """Members of a set in an order that is the same every time."""
    found = list(spelt)
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
