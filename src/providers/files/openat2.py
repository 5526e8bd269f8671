"""Opens files beneath a directory; only the kernel decides whether a path stays beneath it.

A check of a path's text followed by an open of that path is a race: between the two, a directory
can become a symbolic link. `openat2` with `RESOLVE_BENEATH` checks each step as it resolves it, so
nothing here compares paths and nothing calls `realpath`. Links that stay inside work; a link,
`..` or absolute path that leaves is refused as `ScopeViolationError`. Without `openat2` (Linux
before 5.6) everything is refused.

`rename_new` is the `rename` that never replaces anything.

Opening must have no effects. A file is first opened with `O_PATH`, which affects neither a FIFO nor
a device. Only a regular file is then opened for its content.

Runs on the host, with the privileges of the host process.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from caps.capabilities.provider import ProviderError, ScopeViolationError
from caps.protocol.text import printable

_SYS_OPENAT2 = 437  # the same on all architectures: newer than the unified tables
_RESOLVE_NO_MAGICLINKS = 0x02
_RESOLVE_BENEATH = 0x08

# The kernel returns EAGAIN when any rename on the host races with the resolution of a `..`.
_ATTEMPTS = 256

FOLDER = os.O_PATH | os.O_DIRECTORY


class _OpenHow(ctypes.Structure):
    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


_syscall = ctypes.CDLL(None, use_errno=True).syscall
_syscall.restype = ctypes.c_long
_syscall.argtypes = (
    ctypes.c_long,
    ctypes.c_long,
    ctypes.c_char_p,
    ctypes.POINTER(_OpenHow),
    ctypes.c_size_t,
)

_RENAME_NOREPLACE = 1
_renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)


def open_beneath(folder: int, path: str, flags: int, mode: int = 0) -> int:
    """Open `path`, which may not leave the directory `folder`; the caller closes the descriptor.

    Raises `ScopeViolationError` if it would leave, `ProviderError` if the kernel is too old or the
    path stays busy, and `OSError` for the rest.
    """
    if sys.platform != "linux":
        raise ProviderError("files need the system call `openat2` of Linux 5.6 or newer")
    # ctypes would cut the path at a NUL, and so open another file than the one that was checked.
    if "\0" in path:
        raise ScopeViolationError("allowlist", f"`{printable(path)}` holds a NUL character")
    raw = os.fsencode(path)
    for _ in range(_ATTEMPTS):
        descriptor, error = _openat2(folder, raw, flags | os.O_CLOEXEC, mode)
        if error in (errno.EAGAIN, errno.EINTR):
            continue
        if error == 0:
            return descriptor
        raise _refusal(error, path)
    raise ProviderError(f"`{printable(path)}` is being changed on the host all the time; try again")


def _openat2(folder: int, raw: bytes, flags: int, mode: int) -> tuple[int, int]:
    how = _OpenHow(flags, mode, _RESOLVE_BENEATH | _RESOLVE_NO_MAGICLINKS)
    answer: int = _syscall(_SYS_OPENAT2, folder, raw, ctypes.byref(how), ctypes.sizeof(how))
    return answer, 0 if answer >= 0 else ctypes.get_errno()


def _refusal(error: int, path: str) -> Exception:
    if error == errno.EXDEV:
        return ScopeViolationError("allowlist", f"`{printable(path)}` leads out of what is allowed")
    if error == errno.ELOOP:
        # The kernel returns it both for a magic link of /proc and for a cycle of links.
        return ScopeViolationError(
            "allowlist", f"`{printable(path)}` leads through forbidden links"
        )
    if error == errno.ENOSYS:
        return ProviderError("files need the system call `openat2` of Linux 5.6 or newer")
    return OSError(error, os.strerror(error))


def rename_new(old: int, name: str, new: int, new_name: str) -> None:
    """Rename from one directory to another; FileExistsError if there is something already.

    ProviderError where the system cannot do both in one step.
    """
    names, error = (os.fsencode(name), os.fsencode(new_name)), errno.ENOSYS
    if _renameat2 is not None:
        if _renameat2(old, names[0], new, names[1], _RENAME_NOREPLACE) == 0:
            return
        error = ctypes.get_errno()
    if error in (errno.ENOSYS, errno.EINVAL):
        raise ProviderError("this file system can only replace files; set `overwrite`")
    raise OSError(error, os.strerror(error))


@contextmanager
def opened_beneath(folder: int, path: str, flags: int, mode: int = 0) -> Iterator[int]:
    """`open_beneath`, closed at the end."""
    descriptor = open_beneath(folder, path, flags, mode)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def opened_root(root: str) -> Iterator[int]:
    """The allowed directory itself. The policy names it, so it is trusted, with any links in it."""
    if not root.startswith("/"):
        # Never relative to the working directory of the host process.
        raise ProviderError("the policy's file allowlist was not anchored to a directory")
    try:
        descriptor = os.open(root, FOLDER | os.O_CLOEXEC)
    except OSError as error:
        raise ProviderError(
            "the directory that the policy allows cannot be opened on the host; create it first"
        ) from error
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def require_regular(status: os.stat_result, shown: str) -> None:
    """Raise `ProviderError` unless `status` is that of a regular file."""
    if stat.S_ISDIR(status.st_mode):
        raise ProviderError(f"`{printable(shown)}` is a directory; name a file in it")
    if not stat.S_ISREG(status.st_mode):
        raise ProviderError(f"`{printable(shown)}` is not a regular file")
