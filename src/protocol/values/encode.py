"""(5) Encodes the value of user code: copies it into types that msgpack has. Runs in the worker.

Exact types come first, since nearly all results consist of them. Then subclasses, which are read
with the methods of their base, never with their own.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Collection, Iterable
from typing import Any

import msgspec

from caps.protocol.errors import ProtocolError
from caps.protocol.framing import DEFAULT_LIMITS, pack
from caps.protocol.values.decode import decode_value
from caps.protocol.values.kinds import (
    BIG_INTEGER,
    LEAVES,
    MARK,
    MAX_INTEGER_BYTES,
    MAX_ITEMS,
    Kind,
    to_fields,
)

_SMALLEST, _LARGEST = -(2**63), 2**64 - 1
_FIXED = frozenset((float, bool, type(None)))
_WHOLE = frozenset((int, bool))
_TEXT = frozenset((str,))
_MARKS = {kind: msgspec.msgpack.Ext(MARK, bytes((kind,))) for kind in Kind}


def encode_value(value: Any, *, max_bytes: int, max_depth: int = DEFAULT_LIMITS.max_depth) -> bytes:
    """`value` as bytes. Raises TypeError if it cannot be sent, ValueError if too deep or large."""
    data = pack(_ValueEncoder(max_bytes).plain(value, max_depth))
    if len(data) > max_bytes:
        raise _too_large(max_bytes)
    return data


class _ValueEncoder:
    """Copies a value into types that msgpack has, and stops as soon as it is too large.

    A few objects that refer to each other many times would expand to more than the memory holds, so
    the size is counted during the copy and not after it.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = self._items = 0

    def plain(self, value: Any, room: int) -> Any:
        """`value` in types that msgpack has; its containers may nest `room` levels deep."""
        if room < 0:
            raise _too_deep()
        kind = type(value)
        if kind is str or kind is bytes:
            self._count(1, len(value))
            return value
        self._count(1, 1)
        if value is None or kind is bool or kind is float:
            return value
        if kind is int:
            return self._integer(value)
        if kind is list:
            return self._list(value, room)
        if kind is dict:
            return self._dict(value, room)
        return self._subclass(value, room)

    def _list(self, value: list[Any], room: int) -> list[Any]:
        """`value` itself if all its items are plain, as in most long lists."""
        if value and not room:
            raise _too_deep()
        kinds = set(map(type, value))
        if kinds == _TEXT:
            self._count(len(value), sum(map(len, value)))
            return value
        if kinds <= _FIXED or (
            kinds <= _WHOLE and min(value) >= _SMALLEST and max(value) <= _LARGEST
        ):
            self._count(len(value), len(value))
            return value
        return [self.plain(item, room - 1) for item in value]

    def _dict(self, value: dict[Any, Any], room: int) -> Any:
        if value and not room:
            raise _too_deep()
        if _TEXT.issuperset(map(type, value)):
            self._count(len(value), sum(map(len, value)))
            return {key: self.plain(item, room - 1) for key, item in value.items()}
        keys = self._members(value, room)
        pairs = zip(keys, value.values(), strict=True)
        parts = (part for key, item in pairs for part in (key, self.plain(item, room - 1)))
        return self._marked(Kind.DICT, parts)

    def _subclass(self, value: Any, room: int) -> Any:
        """A value that is not exactly of a plain type: of a kind with a mark, or of a subclass."""
        if isinstance(value, enum.Enum):
            return self.plain(value._value_, room - 1)
        # As `dataclasses.is_dataclass`, without the pages that the module would take of a worker.
        if hasattr(type(value), "__dataclass_fields__") and not isinstance(value, type):
            return self._dict(_fields_of(value), room)
        if isinstance(value, tuple):
            return self._sequence(Kind.TUPLE, tuple.__iter__(value), room)
        if isinstance(value, (set, frozenset)):
            return self._set(value, room)
        if isinstance(value, dict):
            return self._dict(dict(dict.items(value)), room)
        if isinstance(value, list):
            return self._list(list(list.__iter__(value)), room)
        if isinstance(value, (str, bytes, bytearray, int, float)):
            return self._base(value)
        return self._single(value, room)

    def _single(self, value: Any, room: int) -> list[Any]:
        try:
            found = to_fields(value)
        except ValueError:
            raise
        except Exception:  # noqa: BLE001 - a time zone of user code may raise anything
            raise TypeError(f"a `{type(value).__name__}` that cannot be read") from None
        if found is None:
            raise TypeError(f"a `{type(value).__name__}` is not a plain value")
        return self._sequence(found[0], found[1], room)

    def _base(self, value: str | bytes | bytearray | int | float) -> Any:
        """An instance of a subclass as one of its base; its own methods are not called."""
        if isinstance(value, int):
            return self._integer(int.__int__(value))
        if isinstance(value, float):
            return float.__float__(value)
        plain = str.__str__(value) if isinstance(value, str) else b"".join((value,))
        self._count(0, len(plain))
        return plain

    def _sequence(self, kind: Kind, items: Iterable[Any], room: int) -> list[Any]:
        if not room:
            raise _too_deep()
        return self._marked(kind, self._list(list(items), room))

    def _set(self, value: set[Any] | frozenset[Any], room: int) -> list[Any]:
        if not room:
            raise _too_deep()
        if isinstance(value, frozenset):
            return self._marked(
                Kind.FROZENSET, self._members(list(frozenset.__iter__(value)), room)
            )
        return self._marked(Kind.SET, self._members(list(set.__iter__(value)), room))

    def _marked(self, kind: Kind, items: Iterable[Any]) -> list[Any]:
        self._count(1, 3)
        return [_MARKS[kind], *items]

    def _members(self, members: Collection[Any], room: int) -> list[Any]:
        """Keys of a dict or members of a set. Raises TypeError if the host could not build it."""
        found = [self.plain(member, room - 1) for member in members]
        if not (LEAVES.issuperset(map(type, members)) and LEAVES.issuperset(map(type, found))):
            _check_members(found)
        return found

    def _integer(self, value: int) -> int | msgspec.msgpack.Ext:
        if _SMALLEST <= value <= _LARGEST:
            return value
        size = value.bit_length() // 8 + 1
        if size > MAX_INTEGER_BYTES:
            raise ValueError(f"an integer of {size} bytes is too large to send")
        self._count(0, size)
        return msgspec.msgpack.Ext(BIG_INTEGER, value.to_bytes(size, "big", signed=True))

    def _count(self, items: int, size: int) -> None:
        self._bytes += size
        self._items += items
        if self._bytes > self._max_bytes:
            raise _too_large(self._max_bytes)
        if self._items > MAX_ITEMS:
            raise ValueError(f"the result holds more than {MAX_ITEMS} items")


def _fields_of(value: Any) -> dict[str, Any]:
    """A dataclass as the dict of its fields. Reading them may run user code."""
    try:
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    except Exception:  # noqa: BLE001 - a property of user code may raise anything
        raise TypeError(f"a `{type(value).__name__}` whose fields cannot be read") from None


def _check_members(encoded: list[Any]) -> None:
    """Raise TypeError unless the host can hold all of these as distinct members.

    A member that was converted may have no hash, or may equal another one that it did not equal.
    """
    try:
        held = decode_value(pack([_MARKS[Kind.SET], *encoded]))
    except ProtocolError as error:
        raise TypeError(f"a key or member that cannot be one: {error.message}") from None
    if len(held) != len(encoded):
        raise TypeError("two keys or members would be one on the other side")


def _too_large(max_bytes: int) -> ValueError:
    return ValueError(f"the result takes more than {max_bytes} bytes")


def _too_deep() -> ValueError:
    return ValueError("the result nests too deeply")
