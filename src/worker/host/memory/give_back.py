"""Gives freed memory back to the operating system.

The C library (glibc) keeps what Python frees, in case it is needed again; after large messages that
can be hundreds of megabytes for good. Two things prevent it:

- large blocks get a mapping of their own, which goes when they are freed. By default glibc raises
  the size of a large block up to 32 MiB, as soon as one was freed, and keeps the end of the heap of
  each thread, which `malloc_trim` does not return;
- after an execution that needed much, the free pages between other blocks are returned.
"""

from __future__ import annotations

import ctypes
import threading

_LARGE_BLOCK_BYTES = 256 * 1024
_M_MMAP_THRESHOLD = -3
_DELAY_SECONDS = 0.2

_pending = threading.Lock()
_library = ctypes.CDLL(None)
_trim = getattr(_library, "malloc_trim", None)  # glibc only


def map_large_blocks() -> None:
    """From now on, give each large block of this process a mapping of its own."""
    if _trim is not None:
        _library.mallopt(_M_MMAP_THRESHOLD, _LARGE_BLOCK_BYTES)


def give_back_soon() -> None:
    """Do so in a moment, once for all executions that end until then, in a thread of its own."""
    if _trim is None or not _pending.acquire(blocking=False):
        return
    timer = threading.Timer(_DELAY_SECONDS, _give_back)
    timer.daemon = True
    timer.start()


def _give_back() -> None:
    _pending.release()
    assert _trim is not None
    _trim(0)
