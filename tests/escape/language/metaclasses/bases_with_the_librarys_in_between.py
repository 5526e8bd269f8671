"""Find the library's real enum class among the bases of its own."""

# stopped: harmless

from enum import Enum
class E(Enum): pass
for kind in (*E.__bases__, *E.__mro__, *E.mro()):
    if kind not in (E, Enum, object):
        escaped()
None
