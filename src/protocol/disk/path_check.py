"""Whether a path leads to a certain open file of a certain size, which is asked before each write.

`os.stat` answers that, but it reads the times, too: from Linux 6.13 on the next write must then
store a new time, which takes as long as writing a short line. `statx` reads only what it is asked
for.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from typing import Final

PathCheck = Callable[[int], bool]

_AT_FDCWD: Final = -100
_INODE_AND_SIZE: Final = 0x100 | 0x200
_STATX_BYTES: Final = 256
# Where `struct statx` has what was found, the inode, the size, and the two numbers of the device:
# as indexes of an array of the type of that field. The last one is both numbers of the device.
_FOUND, _MAJOR, _MINOR = 0, 136 // 4, 140 // 4
_INODE, _SIZE, _DEVICE = 32 // 8, 40 // 8, 136 // 8


def path_check(path: str, fd: int) -> PathCheck:
    """A function that tells whether `path` leads to the open file `fd`, and it has n bytes.

    One thread at a time may call it. A path that cannot be read does not lead there.
    """
    return _by_statx(path, fd) or _by_stat(path, fd)


def _by_stat(path: str, fd: int) -> PathCheck:
    opened = os.fstat(fd)
    file = (opened.st_ino, opened.st_dev)  # not used again while the file is open

    def leads_there(size: int) -> bool:
        try:
            status = os.stat(path)  # noqa: PTH116 - a string
        except OSError:
            return False
        return status.st_size == size and (status.st_ino, status.st_dev) == file

    return leads_there


def _by_statx(path: str, fd: int) -> PathCheck | None:
    """None if there is no `statx`, or if it does not say the same as `fstat`."""
    statx = getattr(ctypes.CDLL(None), "statx", None)
    if statx is None:
        return None
    answer = ctypes.create_string_buffer(_STATX_BYTES)
    # Converted once: to convert them takes a quarter of a call.
    arguments = (
        ctypes.c_int(_AT_FDCWD),
        ctypes.c_char_p(os.fsencode(path)),
        ctypes.c_int(0),
        ctypes.c_uint(_INODE_AND_SIZE),
        answer,
    )
    words, longs = memoryview(answer).cast("B").cast("I"), memoryview(answer).cast("B").cast("Q")
    if statx(*arguments) != 0 or words[_FOUND] & _INODE_AND_SIZE != _INODE_AND_SIZE:
        return None
    opened = os.fstat(fd)
    inode, device = opened.st_ino, longs[_DEVICE]
    numbers = (os.major(opened.st_dev), os.minor(opened.st_dev))
    if longs[_INODE] != inode or (words[_MAJOR], words[_MINOR]) != numbers:
        return None

    def leads_there(size: int) -> bool:
        return (
            statx(*arguments) == 0
            and longs[_SIZE] == size
            and longs[_INODE] == inode
            and longs[_DEVICE] == device
        )

    return leads_there
