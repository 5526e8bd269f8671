"""Gives freed memory back to the operating system after an execution that needed much of it.

The C library keeps what Python frees, in case it is needed again; after large messages that can be
hundreds of megabytes for good.
"""

from __future__ import annotations

import ctypes
import threading

_DELAY_SECONDS = 0.2

_pending = threading.Lock()
_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc only


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
