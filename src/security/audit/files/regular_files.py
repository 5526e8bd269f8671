"""(8) Reading files of a log that somebody may have replaced: regular files only, never waiting.

A pipe under the name of a file would keep a reader waiting for ever, and a device has no end.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO


def open_regular(path: Path) -> BinaryIO:
    """Opens `path` for reading. Raises `OSError`, also if it is anything but a file."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        require_regular(fd, path)
        return os.fdopen(fd, "rb")
    except BaseException:
        os.close(fd)
        raise


def read_regular(path: Path) -> bytes:
    """The content of `path`. Raises `OSError`, also if it is anything but a file."""
    with open_regular(path) as file:
        return file.read()


def require_regular(fd: int, path: Path) -> None:
    """Raises `OSError` if what is open as `fd` is anything but a file."""
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        raise OSError(errno.EINVAL, "Not a regular file", str(path))
