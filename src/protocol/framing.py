"""(5) Bytes to frames and back, and the limits of every frame. No IO.

A frame is a four-byte big-endian length and that many bytes of msgpack. A length over the limit is
an error before a byte of the body is kept, so a peer cannot make us hold more than one frame.

A body from an untrusted peer is checked before it is decoded (`check_shape`). Decoding alone is not
safe: msgpack allows arrays as map keys. Their hashes can be chosen to collide, and then one frame
keeps a dict, and with it the host, busy for hours.
"""

from __future__ import annotations

import enum
import math
import struct
from collections.abc import Collection, Iterator
from typing import Any

import msgspec

from caps.protocol.errors import ProtocolError

LENGTH = struct.Struct(">I")
JSON_SCALARS = frozenset((str, int, bool, type(None)))
_TEXT = frozenset((str,))
# A body this small holds too few keys to do harm, so that ordinary requests skip the check.
HARMLESS_BYTES = 2048
# What an item of a decoded body takes in memory beside its encoded bytes: at most an empty object,
# with its place in a list.
ITEM_BYTES = 96
_CHUNK_BYTES = 64 * 1024
_CONTINUATION = bytes(range(0x80, 0xC0))
_FOUR_BYTES = bytes(range(0xF0, 0x100))


class FrameLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of every frame, and of what one channel may hold."""

    max_frame_bytes: int = 16 * 1024 * 1024
    # A frame from the worker. Smaller: its text can take four times as much memory when decoded.
    # It has room for the largest value of a result, which is 8 MiB.
    max_worker_frame_bytes: int = 8 * 1024 * 1024 + 64 * 1024
    max_depth: int = 64
    max_items: int = 100_000
    max_in_flight: int = 1024
    # The host reads no more from a worker while it holds more than this for it: requests without
    # an answer, as large as they are when decoded, and answers that the worker has not read. The
    # frame that exceeds it is still read to its end.
    max_bytes_in_flight: int = 8 * 1024 * 1024

    @property
    def from_worker(self) -> FrameLimits:
        """The same limits for frames that a worker sends."""
        smaller = min(self.max_frame_bytes, self.max_worker_frame_bytes)
        return msgspec.structs.replace(self, max_frame_bytes=smaller)


DEFAULT_LIMITS = FrameLimits()


_encoder = msgspec.msgpack.Encoder()


def pack(value: object) -> bytes:
    """`value` as msgpack, for where memory may run out: it raises MemoryError then.

    `encode` of msgspec 0.22 ends the process if there is no memory for a larger buffer.
    """
    buffer = bytearray()
    _encoder.encode_into(value, buffer)
    return bytes(buffer)


def frame(body: bytes, limits: FrameLimits = DEFAULT_LIMITS) -> bytes:
    """`body` with its length in front. Raises ProtocolError if it is over the limit."""
    if len(body) > limits.max_frame_bytes:
        raise ProtocolError(
            f"a message of {len(body)} bytes is over the limit of {limits.max_frame_bytes}",
            violation="frame_too_large",
        )
    return LENGTH.pack(len(body)) + body


class FrameReader:
    """Splits a stream of bytes into frame bodies."""

    def __init__(self, limits: FrameLimits = DEFAULT_LIMITS) -> None:
        self._limits = limits
        self.buffer = bytearray()
        """The bytes of an unfinished frame. Read only."""

    @property
    def pending(self) -> int:
        """The number of bytes held of an unfinished frame."""
        return len(self.buffer)

    def feed(self, data: bytes) -> list[bytes]:
        """The bodies of the frames that `data` completes.

        Raises ProtocolError if a frame announces a length over the limit.
        """
        buffer = self.buffer
        size = len(data) - LENGTH.size
        fits = not buffer and 0 <= size <= self._limits.max_frame_bytes
        if fits and LENGTH.unpack_from(data) == (size,):
            return [data[LENGTH.size :]]  # the usual case: exactly one frame
        buffer += data
        bodies: list[bytes] = []
        start = 0
        while len(buffer) - start >= LENGTH.size:
            (length,) = LENGTH.unpack_from(buffer, start)
            if length > self._limits.max_frame_bytes:
                raise ProtocolError(
                    f"a frame announces {length} bytes, over the limit of "
                    f"{self._limits.max_frame_bytes}",
                    violation="frame_too_large",
                )
            end = start + LENGTH.size + length
            if len(buffer) < end:
                break
            bodies.append(bytes(memoryview(buffer)[start + LENGTH.size : end]))
            start = end
        del buffer[:start]
        return bodies


def check_json_like(value: Any, limits: FrameLimits = DEFAULT_LIMITS) -> None:
    """Raise ProtocolError unless `value` is JSON-like data within the limits.

    That is null, booleans, integers, finite floats, strings, arrays and string-keyed objects.
    Depth first, so that data that contains itself reaches the depth limit soon.
    """
    # A shortcut for the usual payload and the usual result.
    if type(value) in JSON_SCALARS or (type(value) is dict and is_flat(value, limits)):
        return
    open_containers: list[Iterator[Any]] = [iter((value,))]
    items = 0
    while open_containers:
        for item in open_containers[-1]:
            if type(item) in JSON_SCALARS or (type(item) is float and math.isfinite(item)):
                continue
            contents = _contents(item)
            items += len(contents) * (2 if isinstance(item, dict) else 1)  # as `check_shape` counts
            if items > limits.max_items:
                raise _too_many(limits.max_items)
            if len(open_containers) > limits.max_depth:
                raise _too_deep(limits.max_depth)
            open_containers.append(iter(contents))
            break
        else:
            open_containers.pop()


def check_json_text(data: bytes, limits: FrameLimits = DEFAULT_LIMITS) -> None:
    """Raise ProtocolError if JSON text has certainly more items than the limits allow.

    Decoding makes an object of each item, so text of a few megabytes could take seconds.
    `check_json_like` counts exactly, afterwards.
    """
    most = 2 * limits.max_items
    if _count_marks(data) <= most:
        return
    # Without what is escaped, each quote begins or ends a string; what is in strings is dropped.
    bare = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    if bare.count(b'"') > most + 2 or _count_marks(b"".join(bare.split(b'"')[::2])) > most:
        raise _too_many(limits.max_items)


def _count_marks(data: bytes) -> int:
    """Arrays, objects and commas: at least as many as there are items, at most twice as many."""
    return data.count(b",") + data.count(b"[") + data.count(b"{")


def is_flat(value: dict[Any, Any], limits: FrameLimits) -> bool:
    """Whether `value` has only string keys and scalar values (no floats), within the limits."""
    return (
        2 * len(value) <= limits.max_items
        and limits.max_depth > 0
        and _TEXT.issuperset(map(type, value))
        and JSON_SCALARS.issuperset(map(type, value.values()))
    )


def _contents(item: Any) -> Collection[Any]:
    """The items of a container. Raises ProtocolError unless it is one with string keys."""
    if isinstance(item, dict):
        for key in item:
            if type(key) is not str:
                raise _not_json_like(f"a key is a `{type(key).__name__}`, not a string")
        return item.values()
    if isinstance(item, (list, tuple)):
        return item
    if isinstance(item, enum.Enum):
        return (item.value,)  # as the encoder encodes it
    if type(item) is float:
        raise _not_json_like(f"`{item}` is not a finite number")
    raise _not_json_like(f"a `{type(item).__name__}` is not json-like data")


def _too_deep(limit: int) -> ProtocolError:
    return ProtocolError(f"data nests deeper than {limit} levels", violation="too_deep")


def _too_many(limit: int) -> ProtocolError:
    return ProtocolError(f"data holds more than {limit} items", violation="too_many_items")


def _not_json_like(message: str) -> ProtocolError:
    return ProtocolError(message, violation="not_json_like")


def _headers() -> list[tuple[int, int, int]]:
    """For each first byte of msgpack: the size of its length field, its fixed length, its kind.

    The kind is the number of items for each unit of length: 1 in an array, 2 in a map. It is 0 for
    anything else, whose length is in bytes.
    """
    table = [(0, 0, 0)] * 256  # small integers, nil, booleans, and the unused byte
    for low in range(16):
        table[0x80 + low], table[0x90 + low] = (0, low, 2), (0, low, 1)
    for low in range(32):
        table[0xA0 + low] = (0, low, 0)
    for start, fixed in zip(range(0xCA, 0xD4), (4, 8, 1, 2, 4, 8, 1, 2, 4, 8), strict=True):
        table[start] = (0, fixed, 0)
    for power in range(5):
        table[0xD4 + power] = (0, 1 + 2**power, 0)
    for power in range(3):
        width = 2**power
        table[0xC4 + power] = table[0xD9 + power] = (width, 0, 0)
        table[0xC7 + power] = (width, 1, 0)
    for power in range(2):
        width = 2 ** (power + 1)
        table[0xDC + power], table[0xDE + power] = (width, 0, 1), (width, 0, 2)
    return table


_HEADERS = _headers()
TEXT_KEYS = frozenset((*range(0xA0, 0xC0), 0xD9, 0xDA, 0xDB))
SCALAR_KEYS = TEXT_KEYS | frozenset(
    (*range(0x80), *range(0xE0, 0x100), 0xC0, 0xC2, 0xC3, *range(0xCA, 0xD4))
)


def check_shape(
    body: bytes, keys: frozenset[int] = TEXT_KEYS, limits: FrameLimits = DEFAULT_LIMITS
) -> int:
    """Raise ProtocolError if a map key of `body` is not of a kind in `keys`, or items are too many.

    No object is built, so no hashes can collide. Bodies that are malformed in another way are left
    to the decoder, which refuses them. Returns an upper estimate of the memory that the decoded
    body takes; of a small one, its size.
    """
    if len(body) <= HARMLESS_BYTES:
        return len(body)
    outer: list[tuple[int, int]] = []
    remaining, kind, position, items, wide = 1, 0, 0, 0, 0
    while position < len(body):
        while not remaining:
            if not outer:
                return len(body) + wide + items * ITEM_BYTES
            remaining, kind = outer.pop()
        start = body[position]
        if kind == 2 and not remaining & 1 and start not in keys:
            raise _not_json_like("a map key is of a kind that is not allowed")
        width, length, item_kind = _HEADERS[start]
        position += 1 + width
        if width:
            length += int.from_bytes(body[position - width : position], "big")
        remaining -= 1
        if item_kind:
            items += length * item_kind
            if items > limits.max_items:
                raise _too_many(limits.max_items)
            outer.append((remaining, kind))
            remaining, kind = length * item_kind, item_kind
        else:
            if length > HARMLESS_BYTES and start in TEXT_KEYS:
                wide += _wide_text_bytes(body, position, position + length)
            position += length
    return len(body) + wide + items * ITEM_BYTES


def _wide_text_bytes(body: bytes, start: int, end: int) -> int:
    """The memory that a long string takes beyond its encoded bytes.

    One wide character makes all characters of a string take two or four bytes. The encoded bytes
    count as well: a string that is not ASCII keeps them once it was encoded again.
    """
    characters, width = 0, 1
    for at in range(start, end, _CHUNK_BYTES):
        chunk = body[at : min(at + _CHUNK_BYTES, end)]
        if chunk.isascii():
            characters += len(chunk)
            continue
        characters += len(chunk.translate(None, _CONTINUATION))
        is_widest = len(chunk.translate(None, _FOUR_BYTES)) < len(chunk)
        width = max(width, 4 if is_widest else 2)
    return characters * width if width > 1 else 0
