"""(4) Python values in calls: a date, a decimal or bytes as arguments, and in what comes back.

A call carries JSON-like data. An argument of another type is converted to the form that its schema
has for it, and a part of a result whose schema names a format becomes the Python type again:

| format, or keyword | type |
|---|---|
| `date-time`, `date`, `time`, `duration` | datetime, date, time, timedelta |
| `decimal`, `uuid` | Decimal, UUID |
| `base64url`, `binary` | bytes |
| `uniqueItems`, `prefixItems` | set, tuple |

An argument may also be an enum member, a dataclass or a frozenset, and bytes where the schema has a
text and the object of `protocol/bytes_object`. The conversion copies, so what
is checked afterwards is plain data. The methods of a subclass of user code are not called.
"""

from __future__ import annotations

import base64
import dataclasses
import datetime as dt
import enum
import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any
from uuid import UUID

from caps.protocol import bytes_object
from caps.protocol.framing import DEFAULT_LIMITS
from caps.worker.inside.caps_api.record import Record, record_of

_MAX_DEPTH = 64
_PLAIN = frozenset((str, int, float, bool, type(None)))
_DAY_SECONDS = 86_400
_DURATION = re.compile(
    r"(?P<sign>[+-])?P(?:(?P<days>[0-9]{1,9})D)?"
    r"(?:T(?:(?P<hours>[0-9]{1,9})H)?(?:(?P<minutes>[0-9]{1,9})M)?"
    r"(?:(?P<seconds>[0-9]{1,9})(?:\.(?P<fraction>[0-9]{1,6}))?S)?)?"
)


# -- arguments -------------------------------------------------------------------------------------


def to_json_like(value: Any, schema: Any, root: Mapping[str, Any]) -> Any:
    """`value` as JSON-like data; what has no JSON form is returned as it is, and refused later.

    So is a value with too many parts: a few containers that hold each other have any number.
    """
    try:
        return _ArgumentConverter(root).convert(value, schema, _MAX_DEPTH)
    except _TooManyPartsError:
        return value


class _TooManyPartsError(Exception):
    """More parts than a request can have."""


class _ArgumentConverter:
    """Copies one argument."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._parts_left = DEFAULT_LIMITS.max_items

    def convert(self, value: Any, schema: Any, room: int) -> Any:
        self._parts_left -= 1
        if self._parts_left < 0:
            raise _TooManyPartsError
        if type(value) in _PLAIN or room < 0:
            return value
        schema = _resolved(schema, self._root)
        if isinstance(value, enum.Enum):
            return self.convert(value._value_, schema, room - 1)
        if isinstance(value, (bytes, bytearray)):
            # Not `bytes(value)`, which calls the `__bytes__` of a subclass.
            return _bytes_form(b"".join((value,)), schema, self._root)
        for kind, as_text in _TEXTS:
            if isinstance(value, kind):
                return as_text(value)
        return self._container(value, schema, room)

    def _container(self, value: Any, schema: Any, room: int) -> Any:
        root = self._root
        if isinstance(value, dict):
            pairs = dict.items(value)
        elif dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = dataclasses.fields(value)
            pairs = {each.name: getattr(value, each.name) for each in fields}.items()
        elif isinstance(value, (list, tuple)) or (
            isinstance(value, (set, frozenset)) and _takes_array(schema, root)
        ):
            return [
                self.convert(item, _item_schema(schema, root, index), room - 1)
                for index, item in enumerate(_items(value))
            ]
        else:
            return value
        return {
            name: self.convert(item, _property_schema(schema, root, name), room - 1)
            for name, item in pairs
        }


def _items(value: Any) -> Iterator[Any]:
    """The items that a list, tuple or set holds, whatever its class says of them."""
    kind = next(each for each in (list, tuple, set, frozenset) if isinstance(value, each))
    found: Iterator[Any] = kind.__iter__(value)
    return found


def _bytes_form(value: bytes, schema: Any, root: Mapping[str, Any]) -> Any:
    """In the form that the schema asks for; unchanged if it asks for none, and refused later."""
    branches = _branches(schema, root)
    formats = {branch.get("format") for branch in branches}
    if "base64url" in formats:
        return base64.urlsafe_b64encode(value).decode()
    if any(map(bytes_object.is_bytes_object, branches)):
        return {bytes_object.KEY: base64.urlsafe_b64encode(value).decode()}
    return value.decode("utf-8", "surrogateescape") if "binary" in formats else value


def _duration(value: dt.timedelta) -> str:
    micros = (value.days * _DAY_SECONDS + value.seconds) * 1_000_000 + value.microseconds
    sign, micros = ("-", -micros) if micros < 0 else ("", micros)
    seconds, fraction = divmod(micros, 1_000_000)
    days, seconds = divmod(seconds, _DAY_SECONDS)
    part = f".{fraction:06}".rstrip("0") if fraction else ""
    return f"{sign}P{days}DT{seconds}{part}S"


# A datetime is a date, so it comes first.
_TEXTS: tuple[tuple[type, Callable[[Any], str]], ...] = (
    (dt.datetime, dt.datetime.isoformat),
    (dt.date, dt.date.isoformat),
    (dt.time, dt.time.isoformat),
    (dt.timedelta, _duration),
    (Decimal, Decimal.__str__),
    (UUID, UUID.__str__),
)


# -- results ---------------------------------------------------------------------------------------


def from_json_like(value: Any, schema: Any, root: Mapping[str, Any], room: int = _MAX_DEPTH) -> Any:
    """`value` with the types that `schema` names; a text that does not fit its format stays one."""
    if room < 0:
        return record_of(value)
    branches = _branches(_resolved(schema, root), root)
    if isinstance(value, str):
        return _typed_text(value, branches)
    if isinstance(value, dict):
        found = next((one for one in branches if _has_object(one, value)), {})
        return Record(
            {
                name: from_json_like(item, _property_schema(found, root, name), root, room - 1)
                for name, item in value.items()
            }
        )
    if isinstance(value, list):
        return _typed_list(value, branches, root, room)
    return value


def _typed_text(value: str, branches: list[dict[str, Any]]) -> Any:
    for branch in branches:
        parse = _PARSERS.get(branch.get("format", ""))
        if parse is not None:
            try:
                return parse(value)
            except (ValueError, ArithmeticError):
                continue
    return value


def _typed_list(
    value: list[Any], branches: list[dict[str, Any]], root: Mapping[str, Any], room: int
) -> Any:
    found = next((one for one in branches if "items" in one or "prefixItems" in one), {})
    items = [
        from_json_like(item, _item_schema(found, root, index), root, room - 1)
        for index, item in enumerate(value)
    ]
    if "prefixItems" in found:
        return tuple(items)
    if found.get("uniqueItems") is True:
        try:
            return set(items)
        except TypeError:  # records cannot be members of a set
            return items
    return items


def _parse_duration(text: str) -> dt.timedelta:
    match = _DURATION.fullmatch(text)
    if match is None or text.rstrip("+-PT") == "":
        raise ValueError("not a duration")
    parts = {name: int(match[name] or 0) for name in ("days", "hours", "minutes", "seconds")}
    micros = int((match["fraction"] or "").ljust(6, "0"))
    found = dt.timedelta(**parts, microseconds=micros)
    return -found if match["sign"] == "-" else found


def _parse_decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ValueError("not a decimal") from None


def _parse_base64(text: str) -> bytes:
    return base64.b64decode(text.encode("ascii"), altchars=b"-_", validate=True)


_PARSERS: dict[str, Callable[[str], Any]] = {
    "date-time": dt.datetime.fromisoformat,
    "date": dt.date.fromisoformat,
    "time": dt.time.fromisoformat,
    "duration": _parse_duration,
    "decimal": _parse_decimal,
    "uuid": UUID,
    "base64url": _parse_base64,
    "binary": lambda text: text.encode("utf-8", "surrogateescape"),
}


# -- schemas ---------------------------------------------------------------------------------------


def _resolved(schema: Any, root: Mapping[str, Any]) -> Any:
    """The schema behind a reference; a few steps, since a reference may refer to another one."""
    for _ in range(8):
        if not isinstance(schema, dict) or "$ref" not in schema:
            break
        node: Any = root
        for part in str(schema["$ref"]).removeprefix("#").split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            node = node.get(name, {}) if isinstance(node, dict) else {}
        schema = node
    return schema if isinstance(schema, dict) else {}


def _branches(schema: Mapping[str, Any], root: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The alternatives of a schema; itself if it has none."""
    found = schema.get("anyOf") or schema.get("oneOf")
    return [_resolved(one, root) for one in found] if found else [dict(schema)]


def _property_schema(schema: Mapping[str, Any], root: Mapping[str, Any], name: str) -> Any:
    for branch in _branches(schema, root):
        properties = branch.get("properties", {})
        if name in properties:
            return properties[name]
        if isinstance(branch.get("additionalProperties"), dict):
            return branch["additionalProperties"]
    return {}


def _item_schema(schema: Mapping[str, Any], root: Mapping[str, Any], index: int) -> Any:
    for branch in _branches(schema, root):
        first = branch.get("prefixItems", ())
        if index < len(first):
            return first[index]
        if "items" in branch:
            return branch["items"]
    return {}


def _takes_array(schema: Mapping[str, Any], root: Mapping[str, Any]) -> bool:
    return any(
        branch.get("type") == "array" or "items" in branch for branch in _branches(schema, root)
    )


def _has_object(schema: Mapping[str, Any], value: Mapping[str, Any]) -> bool:
    """Whether `value` can be of this alternative, judged by its names."""
    if not schema.get("properties"):
        return "additionalProperties" in schema
    return value.keys() >= set(schema.get("required", ())) and (
        schema.get("additionalProperties", True) is not False
        or value.keys() <= schema["properties"].keys()
    )
