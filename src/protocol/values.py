"""(5) What the code's result may be on its way to the host: a closed set of plain values.

Containers, strings, bytes, floats and integers of any size cross as themselves (tuples and sets
as lists). Anything else is refused with `TypeError`, and the worker then sends its `repr`, marked
as such. Integers beyond 64 bits, which msgpack has no room for, travel as an extension.
"""

from __future__ import annotations

from typing import Any

import msgspec

from caps.protocol.errors import ProtocolError
from caps.protocol.framing import (
    DEFAULT_LIMITS,
    SCALAR_KEYS,
    FrameLimits,
    check_depth,
    check_shape,
)

_BIG_INTEGER = 1
_SMALLEST, _LARGEST = -(2**63), 2**64 - 1
_MAX_INTEGER_BYTES = 1 << 20
# There is one result, and many requests: it may hold more than they.
_MAX_ITEMS = 1_000_000
_SHAPE = FrameLimits(max_items=_MAX_ITEMS)
_KEYS = frozenset((str, int, float, bool, type(None)))
_LEAVES = _KEYS | {bytes}


class _BigInteger:
    """An integer of any size while its bytes are decoded.

    Not yet an `int`: the sender could choose integers whose hashes collide and use them as keys.
    """

    __slots__ = ("value",)

    def __init__(self, value: int) -> None:
        self.value = value


def encode_value(value: Any, *, max_bytes: int, max_depth: int = DEFAULT_LIMITS.max_depth) -> bytes:
    """`value` as bytes. TypeError: no plain value. ValueError: too deep or too large."""
    data = msgspec.msgpack.encode(_Plainer(max_bytes).plain(value, max_depth))
    if len(data) > max_bytes:
        raise _too_large(max_bytes)
    return data


def decode_value(data: bytes) -> Any:
    """The value in `data`; a ProtocolError if it is not one."""
    check_shape(data, SCALAR_KEYS, _SHAPE)
    try:
        value = msgspec.msgpack.decode(data, ext_hook=_from_extension, strict=True)
    except (msgspec.MsgspecError, RecursionError, ValueError, TypeError) as error:
        raise ProtocolError(f"a result that is no value: {error}", violation="garbage") from None
    check_depth(value, DEFAULT_LIMITS.max_depth)
    return _finished(value)


class _Plainer:
    """Copies a value into what msgpack knows, and gives up as soon as it cannot fit.

    A few objects that hold each other many times would unfold into more than the memory holds, so
    the size is counted on the way and not afterwards.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = self._items = 0

    def plain(self, value: Any, room: int) -> Any:
        if room < 0:
            raise ValueError("the result nests too deeply")
        kind = type(value)
        if kind is str or kind is bytes:
            self._count(len(value))
            return value
        self._count(1)
        if value is None or kind is bool or kind is float:
            return value
        if isinstance(value, int):
            return self._integer(int(value))
        if isinstance(value, (list, tuple, set, frozenset)):
            return [self.plain(item, room - 1) for item in value]
        if isinstance(value, dict):
            return {self._key(key): self.plain(item, room - 1) for key, item in value.items()}
        raise TypeError(f"a `{kind.__name__}` is no plain value")

    def _key(self, key: Any) -> str | int | float | bool | None:
        if type(key) is int and not _SMALLEST <= key <= _LARGEST:
            raise TypeError("an integer beyond 64 bits is no plain key")
        if key is None or type(key) in (str, int, float, bool):
            self._count(len(key) if type(key) is str else 1)
            return key  # type: ignore[no-any-return]
        raise TypeError(f"a `{type(key).__name__}` is no plain key")

    def _integer(self, value: int) -> int | msgspec.msgpack.Ext:
        if _SMALLEST <= value <= _LARGEST:
            return value
        size = value.bit_length() // 8 + 1
        if size > _MAX_INTEGER_BYTES:
            raise ValueError(f"an integer of {size} bytes is too large to send")
        self._count(size)
        return msgspec.msgpack.Ext(_BIG_INTEGER, value.to_bytes(size, "big", signed=True))

    def _count(self, size: int) -> None:
        self._bytes += size
        self._items += 1
        if self._bytes > self._max_bytes:
            raise _too_large(self._max_bytes)
        if self._items > _MAX_ITEMS:
            raise ValueError(f"the result holds more than {_MAX_ITEMS} items")


def _too_large(max_bytes: int) -> ValueError:
    return ValueError(f"the result takes more than {max_bytes} bytes")


def _from_extension(code: int, data: memoryview) -> _BigInteger:
    if code != _BIG_INTEGER:
        raise ValueError(f"unknown extension {code}")
    if len(data) > _MAX_INTEGER_BYTES:
        raise ValueError(f"an integer of {len(data)} bytes is too large")
    return _BigInteger(int.from_bytes(data, "big", signed=True))


def _finished(value: Any) -> Any:
    """`value` with its integers as integers. The depth is known to be small here."""
    kind = type(value)
    if kind is _BigInteger:
        return value.value
    if kind is list:
        for index, item in enumerate(value):
            if type(item) not in _LEAVES:
                value[index] = _finished(item)
    elif kind is dict:
        for key, item in value.items():
            if type(key) not in _KEYS:
                raise _no_value(key)
            if type(item) not in _LEAVES:
                value[key] = _finished(item)
    elif kind not in _LEAVES:
        raise _no_value(value)
    return value


def _no_value(part: object) -> ProtocolError:
    return ProtocolError(
        f"a result that holds a `{type(part).__name__}` where none may be", violation="garbage"
    )
