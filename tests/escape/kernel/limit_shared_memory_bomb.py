"""Allocate memory outside the heap. RLIMIT_AS counts every mapping."""

# stopped: harmless
# alone: none

import mmap

kept = []
try:
    while len(kept) < 64:
        kept.append(mmap.mmap(-1, 64 << 20))
except OSError:
    pass
taken, kept = len(kept), None
taken * 64 > 256
