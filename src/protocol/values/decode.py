"""(5) Decodes the bytes of a result. Runs on the host and trusts nothing.

Whatever the bytes are, the outcome is a value of the closed set or a ProtocolError, in bounded time
and memory.
"""

from __future__ import annotations

from typing import Any

import msgspec

from caps.protocol.errors import ProtocolError
from caps.protocol.framing import DEFAULT_LIMITS, TEXT_KEYS, FrameLimits, check_shape
from caps.protocol.values.bounded_hashing import HashedBuilder
from caps.protocol.values.kinds import (
    BIG_INTEGER,
    LEAVES,
    MARK,
    MAX_INTEGER_BYTES,
    MAX_ITEMS,
    Kind,
    from_fields,
)

_SHAPE = FrameLimits(max_items=MAX_ITEMS)
_TEXT = frozenset((str,))


class _BigInteger:
    """An integer of any size, during decoding.

    Not yet an `int`, so that it cannot be a key of a map.
    """

    __slots__ = ("value",)

    def __init__(self, value: int) -> None:
        self.value = value


def decode_value(data: bytes) -> Any:
    """The value in `data`. Raises ProtocolError if there is none."""
    check_shape(data, TEXT_KEYS, _SHAPE)
    try:
        value = msgspec.msgpack.decode(data, ext_hook=_from_extension, strict=True)
        if type(value) in LEAVES:
            return value
        return _ValueBuilder().build(value, DEFAULT_LIMITS.max_depth)
    except (msgspec.MsgspecError, RecursionError, ValueError, TypeError, ArithmeticError) as error:
        raise ProtocolError(f"the result cannot be decoded: {error}", violation="garbage") from None


def _from_extension(code: int, data: memoryview) -> _BigInteger | Kind:
    if code == MARK and len(data) == 1:
        return Kind(data[0])
    if code != BIG_INTEGER:
        raise ValueError(f"unknown extension {code}")
    if len(data) > MAX_INTEGER_BYTES:
        raise ValueError(f"an integer of {len(data)} bytes is too large")
    return _BigInteger(int.from_bytes(data, "big", signed=True))


class _ValueBuilder:
    """Builds the value from what msgpack decoded. Runs on the host, on hostile data.

    It recurses, so it counts the depth: `room` is the number of levels that are still allowed.
    """

    def __init__(self) -> None:
        self._hashed = HashedBuilder()

    def build(self, value: Any, room: int) -> Any:
        kind = type(value)
        if kind in LEAVES:
            return value
        if kind is list:
            return self._list(value, room)
        if kind is dict:
            return self._dict(value, room)
        if kind is _BigInteger:
            return value.value
        raise _misplaced(value)

    def _list(self, value: list[Any], room: int) -> Any:
        if not value:
            return value
        if not room:
            raise _too_deep()
        if type(value[0]) is Kind:
            fields = self._items(value[1:], room)
            return self._marked(value[0], fields)
        return self._items(value, room)

    def _items(self, items: list[Any], room: int) -> list[Any]:
        if not LEAVES.issuperset(map(type, items)):
            for index, item in enumerate(items):
                if type(item) not in LEAVES:
                    items[index] = self.build(item, room - 1)
        return items

    def _dict(self, value: dict[Any, Any], room: int) -> dict[Any, Any]:
        if value and not room:
            raise _too_deep()
        if not _TEXT.issuperset(map(type, value)):
            raise _misplaced(next(key for key in value if type(key) is not str))
        for key, item in value.items():
            if type(item) not in LEAVES:
                value[key] = self.build(item, room - 1)
        return value

    def _marked(self, kind: Kind, fields: list[Any]) -> Any:
        if kind is Kind.SET:
            return self._hashed.set_of(fields)
        if kind is Kind.FROZENSET:
            return frozenset(self._hashed.set_of(fields))
        if kind is Kind.DICT:
            if len(fields) % 2:
                raise ValueError("a key without a value")
            return self._hashed.dict_of(fields[::2], fields[1::2])
        return from_fields(kind, fields)


def _misplaced(part: object) -> ProtocolError:
    return ProtocolError(
        f"the result holds a `{type(part).__name__}` where it is not allowed", violation="garbage"
    )


def _too_deep() -> ProtocolError:
    return ProtocolError(
        f"data nests deeper than {DEFAULT_LIMITS.max_depth} levels", violation="too_deep"
    )
