"""Memory of the zygote that is cheap to fork: filled while it is shared, then sealed.

A fork copies an entry for each page of private memory, and the exit of a worker drops it again. For
a page of a file in memory it need not, and entries of one large page are copied together. So what
the zygote loads goes to such a file, through a shared mapping. Before the first worker is forked
its pages are put together to large ones, and a private mapping takes the place of the shared one.
That is one system call, so no byte differs before and after. From then on, whoever writes to a page
gets a copy of this page, as after any fork.

Invariants:
- No process is forked between `begin_sealable` and `seal`: both would write to the same memory. A
  child that is forked anyway does not have this memory, and dies when it uses it.
- Once sealed, no process can change the file: no descriptor and no shared mapping of it remain, and
  the kernel refuses any that could write.

The memory is the heap of the C library; the arenas of Python's small objects are taken from there,
too. Needs the library of GNU, a file in memory and room for it; where one of them is missing, the
memory is ordinary. A failure after that ends the zygote: its heap may have a hole, or be shared.

Runs in the zygote, which sees no untrusted input.
"""

from __future__ import annotations

import ctypes
import errno
import os
from typing import Any, Final

_REGION_BYTES: Final = 64 << 20  # address space; what is not used is given back
_LARGE_BYTES: Final = 2 << 20
_PAGE_BYTES: Final = 4096
_POOL_BYTES: Final = 16 << 10  # Python aligns its pools to this

_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD = -1, -2, -3
_LARGEST_MMAP_THRESHOLD: Final = 32 << 20
_NEVER: Final = 1 << 30
# The library starts lower, and raises the limits when a program frees more; set ones are fixed.
_MMAP_THRESHOLD: Final = 1 << 20
_TRIM_THRESHOLD: Final = 2 << 20
_TOP_PAD: Final = 128 << 10

_READ_AND_WRITE: Final = 1 | 2
_MAP_SHARED, _MAP_PRIVATE, _MAP_FIXED = 1, 2, 16
_MADV_DONTFORK, _MADV_POPULATE_READ, _MADV_COLLAPSE = 10, 22, 25
_F_ADD_SEALS: Final = 1033
_SEALED: Final = 1 | 2 | 4 | 16  # the seals themselves, shrinking, growing, new ways to write


class _ArenaAllocator(ctypes.Structure):
    _fields_ = (
        ("context", ctypes.c_void_p),
        ("allocate", ctypes.c_void_p),
        ("free", ctypes.c_void_p),
    )


class SealableMemory:
    """What `begin_sealable` has set up."""

    def __init__(
        self, libc: Any, start: int, end: int, descriptor: int, arenas: _ArenaAllocator
    ) -> None:
        self._libc = libc
        self._start = start
        self._end = end
        self._descriptor = descriptor
        self._arenas = arenas

    def seal(self) -> None:
        """Make it private. Called once. Raises OSError; then this process must end."""
        libc, start = self._libc, self._start
        ctypes.pythonapi.PyObject_SetArenaAllocator(ctypes.byref(self._arenas))
        _limit_heap(libc)
        libc.malloc_trim(0)
        size = _rounded_up(libc.sbrk(0), _PAGE_BYTES) - start
        if size > self._end - start:  # beyond it the file has nothing
            raise OSError(errno.ENOMEM, "the zygote loads more than its memory file has room for")
        # A kernel that does not know an advice, or cannot follow it, changes nothing: forks are
        # slower then.
        libc.madvise(start, _rounded_up(size, _LARGE_BYTES), _MADV_COLLAPSE)
        _map(libc, start, size, _MAP_PRIVATE, self._descriptor)
        _check(libc.fcntl(self._descriptor, _F_ADD_SEALS, _SEALED))
        os.close(self._descriptor)
        # A page that only one worker uses would count as its own; one that nothing has used yet
        # would become part of the file at its expense.
        libc.madvise(start, size, _MADV_POPULATE_READ)


def begin_sealable() -> SealableMemory | None:
    """Load into memory that can be sealed, from now on. None if something for it is missing here.

    Raises OSError if a mapping fails; then this process must end.
    """
    libc, python = ctypes.CDLL(None, use_errno=True), ctypes.pythonapi
    arenas, ours = _ArenaAllocator(), _ArenaAllocator()
    try:
        _declare(libc)
        python.PyObject_GetArenaAllocator(ctypes.byref(arenas))
        allocate = ctypes.cast(libc.aligned_alloc, ctypes.c_void_p).value
    except AttributeError:  # another C library, or another Python
        return None
    start, end = _untouched(libc)
    descriptor = _file(end - start)
    if descriptor is None:
        _limit_heap(libc)
        return None
    _map(libc, start, end - start, _MAP_SHARED, descriptor)
    _check(libc.madvise(start, end - start, _MADV_DONTFORK))
    # `aligned_alloc(alignment, size)` has the form of `allocate(context, size)`.
    ours.context, ours.allocate, ours.free = _POOL_BYTES, allocate, arenas.free
    python.PyObject_SetArenaAllocator(ctypes.byref(ours))
    return SealableMemory(libc, start, end, descriptor, arenas)


def _file(size: int) -> int | None:
    """The descriptor of a file in memory; None if there is none of this size."""
    if not size:
        return None
    try:
        descriptor = os.memfd_create("zygote", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    except (AttributeError, OSError):  # Python may lack it, and a container may forbid it
        return None
    try:
        os.ftruncate(descriptor, size)
    except OSError:  # larger than the limit of this process
        os.close(descriptor)
        return None
    return descriptor


def _limit_heap(libc: Any) -> None:
    """From now on, give memory back that is freed."""
    libc.mallopt(_M_TRIM_THRESHOLD, _TRIM_THRESHOLD)
    libc.mallopt(_M_MMAP_THRESHOLD, _MMAP_THRESHOLD)


def _untouched(libc: Any) -> tuple[int, int]:
    """Let the heap grow by one large piece. Returns where its large pages begin and end that
    nothing has written to; the same address twice if there are none."""
    libc.mallopt(_M_MMAP_THRESHOLD, _LARGEST_MMAP_THRESHOLD)
    libc.mallopt(_M_TRIM_THRESHOLD, _NEVER)
    libc.mallopt(_M_TOP_PAD, _REGION_BYTES)
    before = libc.sbrk(0)
    blocks = [libc.malloc(_PAGE_BYTES)]
    while blocks[-1] and libc.sbrk(0) == before and len(blocks) < 1000:
        blocks.append(libc.malloc(_PAGE_BYTES))
    last = blocks[-1] or 0  # 0: there is no room for a piece of this size
    start = _rounded_up(last + 2 * _PAGE_BYTES, _LARGE_BYTES)
    end = libc.sbrk(0) // _LARGE_BYTES * _LARGE_BYTES
    for block in blocks:
        libc.free(block)
    libc.mallopt(_M_TOP_PAD, _TOP_PAD)
    if not before < start < end:
        return 0, 0
    libc.malloc(start - last - 2 * _PAGE_BYTES)  # never used: what follows is from `start` on
    return start, end


def _declare(libc: Any) -> None:
    """Tell ctypes the types of the functions. Raises AttributeError if there is none of a name."""
    pointer, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    libc.malloc.restype, libc.malloc.argtypes = pointer, (size,)
    libc.free.restype, libc.free.argtypes = None, (pointer,)
    libc.sbrk.restype, libc.sbrk.argtypes = pointer, (ctypes.c_ssize_t,)
    libc.mallopt.argtypes = (number, number)
    libc.malloc_trim.argtypes = (size,)
    libc.madvise.argtypes = (pointer, size, number)
    libc.mmap.restype = pointer
    libc.mmap.argtypes = (pointer, size, number, number, number, ctypes.c_long)


def _map(libc: Any, start: int, size: int, kind: int, descriptor: int) -> None:
    place = libc.mmap(start, size, _READ_AND_WRITE, kind | _MAP_FIXED, descriptor, 0)
    _check(0 if place == start else -1)


def _check(result: int) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, f"the memory of the zygote: {os.strerror(number)}")


def _rounded_up(address: int, unit: int) -> int:
    return -(-address // unit) * unit
