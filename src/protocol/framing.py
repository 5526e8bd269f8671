"""Bytes to frames and back, and the limits that every frame obeys. No IO.

A frame is a four-byte big-endian length and that many bytes of msgpack. A length over the limit is
an error before a byte of the body is kept, so a peer cannot make us hold more than one frame.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

from caps.protocol.errors import ProtocolError

_LENGTH = struct.Struct(">I")
_SCALARS = (str, int, float, bool, bytes, type(None))


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameLimits:
    """All limits of the wire in one place."""

    max_frame_bytes: int = 16 * 1024 * 1024
    max_depth: int = 64
    max_in_flight: int = 1024


DEFAULT_LIMITS = FrameLimits()


def frame(body: bytes, limits: FrameLimits = DEFAULT_LIMITS) -> bytes:
    """`body` with its length before it; a ProtocolError if it is over the limit."""
    if len(body) > limits.max_frame_bytes:
        raise ProtocolError(
            f"a message of {len(body)} bytes is over the limit of {limits.max_frame_bytes}",
            violation="frame_too_large",
        )
    return _LENGTH.pack(len(body)) + body


class FrameReader:
    """Cuts a stream of bytes into frame bodies."""

    def __init__(self, limits: FrameLimits = DEFAULT_LIMITS) -> None:
        self._limits = limits
        self._buffer = bytearray()

    @property
    def pending(self) -> int:
        """How many bytes of an unfinished frame are held."""
        return len(self._buffer)

    def feed(self, data: bytes) -> list[bytes]:
        """The frames that `data` completes; a ProtocolError if one announces too much."""
        buffer = self._buffer
        buffer += data
        bodies: list[bytes] = []
        start = 0
        while len(buffer) - start >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(buffer, start)
            if length > self._limits.max_frame_bytes:
                raise ProtocolError(
                    f"a frame announces {length} bytes, over the limit of "
                    f"{self._limits.max_frame_bytes}",
                    violation="frame_too_large",
                )
            end = start + _LENGTH.size + length
            if len(buffer) < end:
                break
            bodies.append(bytes(memoryview(buffer)[start + _LENGTH.size : end]))
            start = end
        del buffer[:start]
        return bodies


def check_depth(value: Any, limit: int) -> None:
    """A ProtocolError if containers nest deeper than `limit`. Iterative: depth costs no stack."""
    level = [value]
    for _ in range(limit + 1):
        below: list[Any] = []
        for item in level:
            if isinstance(item, _SCALARS):
                continue
            below.extend(item.values() if isinstance(item, dict) else item)
        if not below:
            return
        level = below
    raise ProtocolError(f"data nests deeper than {limit} levels", violation="too_deep")
