"""Get the real registry of a dispatcher by a comparison, and change it."""

# stopped: harmless

import functools
@functools.singledispatch
def f(x): return 1
class Spy:
    def __eq__(self, other):
        other.clear()
        other[object] = lambda x: take(list(other))
        return False
f.registry == Spy()
f(1)
