"""Opening, reading and writing files without blocking on anything but regular files.

Somebody may have replaced a file. A pipe under its name would make a reader wait for ever, and a
device has no end.
"""

from __future__ import annotations

import bisect
import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO, Final

_NEWLINE: Final = ord("\n")
# Open or create a file for reading and writing; never follow a symbolic link.
CREATE_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


def open_regular(path: Path) -> BinaryIO:
    """Open `path` for reading. Raises `OSError`, also if it is not a regular file."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        require_regular(fd, path)
        return os.fdopen(fd, "rb")
    except BaseException:
        os.close(fd)
        raise


def read_regular(path: Path, max_bytes: int | None = None) -> bytes:
    """Return the content of `path`.

    Raises `OSError`, also if it is not a regular file or has more than `max_bytes`.
    """
    with open_regular(path) as file:
        # None: a file of the kernel that has nothing to read now.
        data: bytes | None = file.read(-1 if max_bytes is None else max_bytes + 1)
    if data is None:
        raise OSError(errno.EAGAIN, "Nothing to read", str(path))
    if max_bytes is not None and len(data) > max_bytes:
        raise OSError(errno.EFBIG, f"More than {max_bytes} bytes", str(path))
    return data


def require_regular(fd: int, path: Path) -> None:
    """Raise `OSError` if `fd` is not a regular file."""
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        raise OSError(errno.EINVAL, "Not a regular file", str(path))


def write_at(fd: int, data: bytes, offset: int) -> int:
    """Write all of `data` at `offset`; return the offset after it. Raises `OSError`."""
    at = offset + os.pwrite(fd, data, offset)
    while at < offset + len(data):
        at += os.pwrite(fd, data[at - offset :], at)
    return at


def was_cut(fd: int, offset: int, end: int) -> bool:
    """Whether the file lacks lines before `offset`, or data before `end`, that it had before.

    Somebody cut it in place (as `copytruncate` of logrotate does) since its size was checked. A
    write beyond the new end leaves a hole, which reads as NUL bytes.
    """
    if not offset:
        return len(os.pread(fd, end, 0)) < end
    # One read tells both: it stops at the end of the file, and begins with the end of a line.
    found = os.pread(fd, end - offset + 1, offset - 1)
    return len(found) <= end - offset or found[0] != _NEWLINE


def remove_hole(fd: int, offset: int) -> None:
    """Cut a file back to what it had before a write at `offset`, which left a hole.

    The lines before the hole contain no NUL byte, so its first byte is found by bisection.
    """
    before = min(offset, os.fstat(fd).st_size)
    end = bisect.bisect_left(range(before), True, key=lambda at: os.pread(fd, 1, at) == b"\0")
    os.ftruncate(fd, end)


def create_synced(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Create `path` with this content, durably. Raises `OSError`, also if it exists."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    with os.fdopen(fd, "wb") as file:
        write_synced(file, data)


def write_synced(file: BinaryIO, data: bytes) -> None:
    """Write `data` and sync the file. Raises `OSError`."""
    file.write(data)
    file.flush()
    os.fsync(file.fileno())


def sync_directory(directory: Path) -> None:
    """Make new names in `directory` survive a power cut. Raises `OSError`."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
