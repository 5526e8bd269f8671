"""The constants of the loaded libraries: one mapping for each library, where there were two.

A library has constants that are mapped from its file, followed by those that the loader has
adjusted to the addresses of this process. A fork copies both mappings and the pages of the second
one, and the exit of a worker drops them. From one sealed file in memory they are one mapping, and
no page of it is copied. Nothing becomes executable or writable.

Nobody can write to any of these mappings, so a copy is equal to what it replaces. A library with
many constants stays as it is: the file would be larger than what it saves.

Runs in the zygote, which sees no untrusted input.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from caps.worker.inside.zygote.sealed_memory import check, create_file, declare, seal_file

_MOST_BYTES: Final = 256 << 10
_READ: Final = 1
_MAP_PRIVATE, _MAP_FIXED = 2, 16


class _Mapping(NamedTuple):
    start: int
    end: int
    access: bytes
    path: bytes


def join_constants() -> None:
    """Called once, after all libraries are loaded. Does nothing where there is no file in memory.

    Raises OSError if a mapping fails; then this process must end.
    """
    libc: Any = ctypes.CDLL(None, use_errno=True)
    places = list(_find_constants())
    descriptor = create_file("constants", sum(size for _, size in places))
    if descriptor is None:
        return
    declare(libc)
    offset = 0
    for start, size in places:
        os.pwrite(descriptor, ctypes.string_at(start, size), offset)
        kind = _MAP_PRIVATE | _MAP_FIXED
        place = libc.mmap(start, size, _READ, kind, descriptor, offset)
        check(0 if place == start else -1)
        offset += size
    seal_file(libc, descriptor)


def _find_constants() -> Iterator[tuple[int, int]]:
    """Where they begin, and their size: two mappings that can only be read, behind the code."""
    with open("/proc/self/maps", "rb") as maps:  # noqa: PTH123 - no path is needed
        mappings = [_parse(line) for line in maps]
    for code, plain, adjusted in zip(mappings, mappings[1:], mappings[2:], strict=False):
        size = adjusted.end - plain.start
        if (
            code.path.startswith(b"/")
            and code.path == plain.path == adjusted.path
            and (code.access, plain.access, adjusted.access) == (b"r-xp", b"r--p", b"r--p")
            and code.end == plain.start
            and plain.end == adjusted.start
            and size <= _MOST_BYTES
        ):
            yield plain.start, size


def _parse(line: bytes) -> _Mapping:
    place, access, _, _, _, *path = line.split(maxsplit=5)
    start, _, end = place.partition(b"-")
    return _Mapping(int(start, 16), int(end, 16), access, path[0].strip() if path else b"")
