"""The memory of the zygote in few, large pages: a fork copies one entry for each page, and an exit
drops it again.

Python takes memory for small objects in arenas of 1 MiB, wherever there is room between the
libraries. Here they are taken at once, and so side by side. When everything is loaded, the kernel
is asked to replace the small pages by large ones. A worker that writes copies a small page, as
before.

Nothing depends on it: where the kernel has no large pages, or none is free, the small ones stay.
"""

from __future__ import annotations

import gc

_LARGE_BITS = 21  # 2 MiB
# An object of the largest size that lies in an arena, and how many of them fill one.
_LARGEST_SMALL = 512
_HEADER_BYTES = 33  # of a `bytes` object
_IN_AN_ARENA = 1984
# What the zygote needs for its modules, rounded up.
_ARENAS = 12


def reserve_arenas() -> tuple[bytes, ...]:
    """Take arenas side by side. The caller keeps what is returned: an object in each of them."""
    size = _LARGEST_SMALL - _HEADER_BYTES
    return tuple([bytes(size) for _ in range(_ARENAS * _IN_AN_ARENA)][:: _IN_AN_ARENA // 2])


def large_regions() -> list[tuple[int, int]]:
    """The addresses and sizes of the regions that objects lie in, as large pages would be."""
    gc.unfreeze()  # what is frozen is not listed
    found = {id(each) >> _LARGE_BITS for each in gc.get_objects()}
    gc.freeze()
    return [(number << _LARGE_BITS, 1 << _LARGE_BITS) for number in sorted(found)]
