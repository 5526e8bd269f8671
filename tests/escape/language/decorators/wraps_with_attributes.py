"""Have `wraps` copy the private attributes of a function."""

# stopped: harmless

import functools
def f(): pass
f._hidden = 1
@functools.wraps(f)
def g(): pass
hasattr(g, "_hidden") or g.__wrapped__ is not f
