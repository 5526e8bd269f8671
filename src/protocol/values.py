"""What the code's result may be on its way to the host: a closed set of plain values.

Containers, strings, bytes, floats and integers of any size cross as themselves (tuples and sets
as lists). Anything else is refused with `TypeError`, and the worker then sends its `repr`, marked
as such. Integers beyond 64 bits, which msgpack has no room for, travel as an extension.
"""

from __future__ import annotations

from typing import Any

import msgspec

from caps.protocol.errors import ProtocolError
from caps.protocol.framing import DEFAULT_LIMITS, check_depth

_BIG_INTEGER = 1
_SMALLEST, _LARGEST = -(2**63), 2**64 - 1
_MAX_INTEGER_BYTES = 1 << 20


def encode_value(value: Any, *, max_bytes: int, max_depth: int = DEFAULT_LIMITS.max_depth) -> bytes:
    """`value` as bytes. TypeError: no plain value. ValueError: too deep or too large."""
    data = msgspec.msgpack.encode(_plain(value, max_depth))
    if len(data) > max_bytes:
        raise ValueError(f"the result takes {len(data)} bytes, over the limit of {max_bytes}")
    return data


def decode_value(data: bytes) -> Any:
    """The value in `data`; a ProtocolError if it is not one."""
    try:
        value = msgspec.msgpack.decode(data, ext_hook=_from_extension, strict=True)
    except (msgspec.MsgspecError, RecursionError, ValueError, TypeError) as error:
        raise ProtocolError(f"a result that is no value: {error}", violation="garbage") from None
    check_depth(value, DEFAULT_LIMITS.max_depth)
    return value


def _plain(value: Any, room: int) -> Any:
    if room < 0:
        raise ValueError("the result nests too deeply")
    kind = type(value)
    if value is None or kind in (bool, float, str, bytes):
        return value
    if isinstance(value, int):
        return _plain_integer(int(value))
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item, room - 1) for item in value]
    if isinstance(value, dict):
        return {_plain_key(key): _plain(item, room - 1) for key, item in value.items()}
    raise TypeError(f"a `{kind.__name__}` is no plain value")


def _plain_key(key: Any) -> str | int | float | bool | None:
    if key is None or type(key) in (str, int, float, bool):
        return key  # type: ignore[no-any-return]
    raise TypeError(f"a `{type(key).__name__}` is no plain key")


def _plain_integer(value: int) -> int | msgspec.msgpack.Ext:
    if _SMALLEST <= value <= _LARGEST:
        return value
    size = value.bit_length() // 8 + 1
    if size > _MAX_INTEGER_BYTES:
        raise ValueError(f"an integer of {size} bytes is too large to send")
    return msgspec.msgpack.Ext(_BIG_INTEGER, value.to_bytes(size, "big", signed=True))


def _from_extension(code: int, data: memoryview) -> Any:
    if code != _BIG_INTEGER:
        raise ValueError(f"unknown extension {code}")
    return int.from_bytes(data, "big", signed=True)
