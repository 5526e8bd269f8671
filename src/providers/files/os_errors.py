"""The errors for user space when the host's file system refuses something.

An `OSError` has host paths and more detail than user space may see, so it stops here: the message
names only the path as the caller gave it.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from caps.capabilities.provider import ProviderError
from caps.protocol.text import printable

_REASONS = {
    errno.EACCES: "is not open to the host process; ask the operator for its permissions",
    errno.EAGAIN: "is busy on the host; try again",
    errno.EBUSY: "is in use by the host",
    errno.EDQUOT: "does not fit: the host's disk quota is used up",
    errno.EFBIG: "would grow larger than the host allows",
    errno.EISDIR: "is a directory; name a file in it",
    errno.EMFILE: "cannot be opened now: the host has too many files open; try again",
    errno.ENAMETOOLONG: "is longer than a path may be",
    errno.ENFILE: "cannot be opened now: the host has too many files open; try again",
    errno.ENOENT: "does not exist",
    errno.ENOSPC: "does not fit: the host's disk is full",
    errno.ENOTDIR: "is not a directory, or leads through a file",
    errno.ENOTEMPTY: "is a directory that is not empty; pass `recursive=True` to delete it",
    errno.EPERM: "is not open to the host process; ask the operator for its permissions",
    errno.EROFS: "lies on a read-only file system",
}


@contextmanager
def as_provider_error(shown: str) -> Iterator[None]:
    """Turn an `OSError` about the path `shown` into a `ProviderError` that is safe to show."""
    try:
        yield
    except OSError as error:
        name = errno.errorcode.get(error.errno or 0, "unknown error")
        reason = _REASONS.get(error.errno or 0, f"failed on the host (`{name}`)")
        raise ProviderError(f"`{printable(shown)}` {reason}") from error
