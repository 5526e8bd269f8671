"""The creation time of a file: on Linux `statx` has it, `os.stat` does not."""

from __future__ import annotations

import ctypes
import struct
from datetime import UTC, datetime

_AT_EMPTY_PATH = 0x1000
_STATX_BTIME = 0x800
_STATX_SIZE = 256
_MASK = struct.Struct("=I")  # stx_mask, at the start of struct statx
_BTIME = struct.Struct("=qI")  # stx_btime: seconds and nanoseconds
_BTIME_OFFSET = 80

# Absent from C libraries older than the call; the creation time is then unknown.
_statx = getattr(ctypes.CDLL(None, use_errno=True), "statx", None)
if _statx is not None:
    _statx.restype = ctypes.c_int
    _statx.argtypes = (
        ctypes.c_int,
        ctypes.c_char_p,
        ctypes.c_int,
        ctypes.c_uint,
        ctypes.c_char_p,
    )


def creation_time(descriptor: int) -> datetime | None:
    """When an open file was created; None if the file system does not store it."""
    if _statx is None:
        return None
    answer = ctypes.create_string_buffer(_STATX_SIZE)
    if _statx(descriptor, b"", _AT_EMPTY_PATH, _STATX_BTIME, answer) != 0:
        return None
    if not _MASK.unpack_from(answer)[0] & _STATX_BTIME:
        return None
    seconds, nanoseconds = _BTIME.unpack_from(answer, _BTIME_OFFSET)
    return datetime.fromtimestamp(seconds + nanoseconds / 1e9, tz=UTC)
