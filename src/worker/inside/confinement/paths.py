"""Confinement of a program that is not a worker: some paths, and the network or not.

Runs in a child, before the program that it is for. Everything is applied or an OSError is raised:
the caller ends then, so nothing runs with less.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Final

from caps.worker.inside.confinement import linux
from caps.worker.inside.confinement.layers import (
    FILE_RIGHTS_BY_ABI,
    NETWORK_RIGHTS,
    SCOPES,
    map_identity,
)

# The bits of Landlock: execute, read files, list directories.
_READ: Final = 0b1 | 0b100 | 0b1000
# What a rule for something that is not a directory may hold: execute, write, read, truncate, ioctl.
_OF_FILES: Final = 0b1 | 0b10 | 0b100 | 1 << 14 | 1 << 15
# Rules for the devices that every program may use.
DEVICES: Final = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/full")
# What a program needs to start at all: libraries, interpreters, time zones.
SYSTEM: Final = (
    *("/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/opt"),
    *("/etc/ld.so.cache", "/etc/localtime", "/etc/alternatives", "/etc/ssl", "/etc/fonts"),
)


def confine_to_paths(read: Iterable[str], write: Iterable[str], *, network: bool) -> None:
    """Only these paths from now on, and the devices; the network only if `network`. OSError."""
    version = linux.landlock_version()
    if version == 0:
        raise OSError(0, "the kernel has no Landlock")
    if not network:
        _leave_network()
    linux.no_new_privileges()
    rights = (1 << FILE_RIGHTS_BY_ABI[min(version, 5)]) - 1
    tcp = NETWORK_RIGHTS if version >= 4 and not network else 0
    scopes = SCOPES if version >= 6 else 0
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = linux.create_deny_all_ruleset(rights, tcp, scopes, size)
    try:
        for path in read:
            _allow(ruleset, path, _READ & rights)
        for path in (*DEVICES, *write):
            _allow(ruleset, path, rights)
        linux.enter_landlock_domain(ruleset)
    finally:
        os.close(ruleset)


def existing(paths: Iterable[str]) -> list[str]:
    """Those that this system has."""
    return [path for path in paths if os.path.exists(path)]  # noqa: PTH110 - pathlib is slow to load


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        own = rights if os.path.isdir(path) else rights & _OF_FILES  # noqa: PTH112 - as above
        linux.allow_beneath(ruleset, path, own)
    except OSError as error:
        raise OSError(error.errno, f"`{path}`: {error.strerror}") from None


def _leave_network() -> None:
    """Enter a network namespace that has no interface."""
    uid, gid = os.getuid(), os.getgid()
    try:
        linux.unshare(linux.CLONE_NEWNET)
    except PermissionError:
        linux.unshare(linux.CLONE_NEWUSER | linux.CLONE_NEWNET)
        map_identity(uid, gid)
