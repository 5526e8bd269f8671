"""Puts memory of this process into large pages (Linux 6.1 and later; nothing happens elsewhere).

After a pause a start finds the caches of the processor cold. It touches objects in a few thousand
small pages, and looking up where a page lies can cost more than reading it. Python asks for its
memory in pieces that are too small for the kernel to use large pages by itself.

Only memory that is in use nearly everywhere is moved, so the process hardly gets larger. The system
calls run in a thread, and take about a millisecond for each large page.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import anyio
import anyio.to_thread

_SMALL_BYTES = 4096
_LARGE_BYTES = 2 * 1024 * 1024
_PAGES = _LARGE_BYTES // _SMALL_BYTES
_LEAST_PAGES = _PAGES * 3 // 4
# The program that embeds the runtime may have a lot of memory of its own.
_MAX_LARGE_PAGES = 32
_MADV_COLLAPSE = 25
_IS_PRESENT = 1 << 63
# Soon after the start, and again when more has been loaded. Short commands have ended by then.
_WAITS = (1.0, 30.0, 300.0)

_SETTING = Path("/sys/kernel/mm/transparent_hugepage/enabled")

_library = ctypes.CDLL(None)


async def keep_in_large_pages() -> None:
    """Move what is in use, a few times."""
    threads = anyio.CapacityLimiter(1)
    for wait in _WAITS:
        await anyio.sleep(wait)
        await anyio.to_thread.run_sync(move_to_large_pages, limiter=threads, abandon_on_cancel=True)


def move_to_large_pages() -> int:
    """Move what is in use. Returns how many large pages it takes; raises nothing."""
    moved = 0
    with suppress(OSError):
        if _is_possible():
            maps = Path("/proc/self/maps").read_text().splitlines()
            with Path("/proc/self/pagemap").open("rb", buffering=0) as pagemap:
                for start in large_ranges(maps):
                    pagemap.seek(start // _SMALL_BYTES * 8)
                    if is_dense(pagemap.read(_PAGES * 8)):
                        moved += _collapse(start)
                    if moved == _MAX_LARGE_PAGES:
                        break
    return moved


def _is_possible() -> bool:
    """Not if the operator has turned large pages off."""
    fits = sys.platform == "linux" and os.sysconf("SC_PAGE_SIZE") == _SMALL_BYTES
    return fits and "[never]" not in _SETTING.read_text()


def _collapse(start: int) -> bool:
    """Whether the kernel did it: it refuses some memory, and an older kernel all of it."""
    where, size = ctypes.c_void_p(start), ctypes.c_size_t(_LARGE_BYTES)
    return bool(_library.madvise(where, size, _MADV_COLLAPSE) == 0)


def large_ranges(maps: Iterable[str]) -> Iterator[int]:
    """Where large pages could begin in the private memory that these lines of `maps` name."""
    for line in maps:
        place, access, _offset, _device, inode, *name = line.split()
        if access != "rw-p" or inode != "0" or name not in ([], ["[heap]"]):
            continue
        start, end = (int(part, 16) for part in place.split("-"))
        first = -(-start // _LARGE_BYTES) * _LARGE_BYTES
        yield from range(first, end - _LARGE_BYTES + 1, _LARGE_BYTES)


def is_dense(entries: bytes) -> bool:
    """Whether most of the small pages that `pagemap` has these entries for are in memory."""
    present = sum(1 for entry in memoryview(entries).cast("Q") if entry & _IS_PRESENT)
    return present >= _LEAST_PAGES
