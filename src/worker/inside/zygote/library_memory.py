"""Memory of the loaded libraries that is cheap to fork: constants and data from one sealed file.

A library has constants that are mapped from its file, next to them those that the loader has
adjusted to the addresses of this process, then its data. A fork copies all these mappings, the
pages of the last two, and a list of who shares these; the exit of a worker drops all of it. From a
file in memory, all constants of a library are one mapping, and a fork copies no page. From then on,
whoever writes to the data gets a copy of the page. Nothing becomes executable or writable that was
not, and what is in the file cannot change.

Invariants:
- Nothing writes between a copy and its mapping, so no byte differs before and after. Nobody can
  write to constants. Data is moved only of extension modules of the standard library, and none of
  their code runs meanwhile: this process has one thread, the garbage collector is off, and the one
  such module that is used here keeps its data where it is.
- A library with many constants keeps those of its file, as a copy would take more than it saves.

Runs in the zygote, which sees no untrusted input.
"""

from __future__ import annotations

import ctypes
import gc
import os
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from caps.worker.inside.zygote.sealed_memory import check, create_file, declare, seal_file

_MOST_CONSTANTS: Final = 256 << 10
_MODULES: Final = b"/lib-dynload/"  # where Python has its extension modules, and nobody else any
_USED: Final = b"/_ctypes."
_READ, _READ_AND_WRITE = 1, 1 | 2
_MAP_PRIVATE, _MAP_FIXED = 2, 16
# Memory, whatever the addresses of a machine are: a part of it can be written to a file without
# another copy.
_EveryByte: Final = ctypes.c_char * 2**62


class _Mapping(NamedTuple):
    start: int
    end: int
    access: bytes
    path: bytes


class Part(NamedTuple):
    """What is moved together."""

    start: int
    size: int
    protection: int


def share_library_memory() -> None:
    """Called once, after all libraries are loaded. Does nothing where there is no file in memory.

    Raises OSError if something of it fails; then this process must end.
    """
    libc: Any = ctypes.CDLL(None, use_errno=True)
    parts = list(find_parts())
    descriptor = create_file("libraries", sum(part.size for part in parts))
    if descriptor is None:
        return
    declare(libc)
    gc.disable()
    memory, offset = memoryview(_EveryByte.from_address(0)), 0
    for start, size, protection in parts:
        os.pwrite(descriptor, memory[start : start + size], offset)
        kind = _MAP_PRIVATE | _MAP_FIXED
        place = libc.mmap(start, size, protection, kind, descriptor, offset)
        check(0 if place == start else -1)
        offset += size
    gc.enable()
    seal_file(libc, descriptor)


def find_parts() -> Iterator[Part]:
    with open("/proc/self/maps", "rb") as maps:  # noqa: PTH123 - no path is needed
        mappings = [_parse(line) for line in maps]
    for code, plain, adjusted in zip(mappings, mappings[1:], mappings[2:], strict=False):
        if _are_of_one_library(code, plain, adjusted):
            is_small = adjusted.end - plain.start <= _MOST_CONSTANTS
            start = plain.start if is_small else adjusted.start
            yield Part(start, adjusted.end - start, _READ)
    for start, end, access, path in mappings:
        if access == b"rw-p" and _MODULES in path and _USED not in path:
            yield Part(start, end - start, _READ_AND_WRITE)


def _parse(line: bytes) -> _Mapping:
    place, access, _, _, _, *path = line.split(maxsplit=5)
    start, _, end = place.partition(b"-")
    return _Mapping(int(start, 16), int(end, 16), access, path[0].strip() if path else b"")


def _are_of_one_library(code: _Mapping, plain: _Mapping, adjusted: _Mapping) -> bool:
    return (
        code.path.startswith(b"/")
        and code.path == plain.path == adjusted.path
        and (code.access, plain.access, adjusted.access) == (b"r-xp", b"r--p", b"r--p")
        and code.end == plain.start
        and plain.end == adjusted.start
    )
