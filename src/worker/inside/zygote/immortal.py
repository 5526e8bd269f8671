"""Objects of the zygote become immortal, so that workers do not copy the pages that they lie on.

Python writes to an object whenever it takes or drops a reference to it, and the kernel then copies
the page for the worker that wrote. From Python 3.12 on an object can be immortal: its reference
count is never written again, and it is never freed. Nothing that exists here needs to be freed: a
worker lives for one execution, or one session.

Python has no function for this, so the count is written where it lies. That is done only on
versions whose layout is known, and only after a check on an object of our own.

Runs in the zygote, which sees no untrusted input.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Callable
from types import CodeType
from typing import Any, Final

# The low half of a reference count that Python takes as immortal, by version. Before 3.14 it must
# be exactly the value that Python itself uses, as any other is still counted up.
_COUNTS: Final = {(3, 12): 0xFFFF_FFFF, (3, 13): 0xFFFF_FFFF, (3, 14): 0xC000_0000}
_LOWEST_IMMORTAL: Final = 0xC000_0000
_COUNT_BYTES: Final = 4
# Memory as counts, whatever the addresses of a machine are: an item of it takes half as long as an
# object at an address.
_EveryCount: Final = ctypes.c_uint32 * (2**62 // _COUNT_BYTES)


def keep_for_ever() -> int:
    """Make every object that exists immortal. Returns their number: 0 if that is not possible."""
    count = _COUNTS.get(sys.version_info[:2])
    if count is None or not _is_layout_known():
        return 0
    gc.unfreeze()  # what is frozen is not listed
    found = _reachable(gc.get_objects())
    counts = _EveryCount.from_address(0)
    for address in found:
        counts[address // _COUNT_BYTES] = count
    gc.freeze()
    return len(found)


def _is_layout_known() -> bool:
    """Whether a count lies where this module writes it, on a little-endian machine of 64 bits."""
    if sys.byteorder != "little" or sys.maxsize != 2**63 - 1 or not _has_one_lock():
        return False
    none = ctypes.c_uint32.from_address(id(None)).value
    probe = object()
    before = ctypes.c_uint32.from_address(id(probe)).value
    other = probe
    after = ctypes.c_uint32.from_address(id(probe)).value
    return other is probe and after == before + 1 and none >= _LOWEST_IMMORTAL


def _has_one_lock() -> bool:
    """Whether this interpreter has the global lock: without it, an object has another layout."""
    check: Callable[[], bool] = getattr(sys, "_is_gil_enabled", lambda: True)
    return check()


def _reachable(objects: list[Any]) -> set[int]:
    """The addresses of these objects and of all that they refer to, without those of this walk."""
    seen: set[int] = set()
    waiting, own = objects, {id(seen), id(objects), id(sys._getframe())}
    seen |= own
    while waiting:
        new = []
        for each in waiting:
            address = id(each)
            if address not in seen:
                seen.add(address)
                new.append(each)
        waiting = gc.get_referents(*new)
        for each in new:
            if isinstance(each, CodeType):  # Python does not list what code refers to
                waiting += _parts(each)
    return seen - own


def _parts(code: CodeType) -> tuple[object, ...]:
    return (
        code.co_consts,
        code.co_names,
        code.co_filename,
        code.co_name,
        code.co_qualname,
        code.co_linetable,
        code.co_exceptiontable,
    )
