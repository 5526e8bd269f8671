"""Put a hook into an object's dictionary by a cached property."""

# stopped: harmless

import copy
from functools import cached_property
class C:
    __copy__ = cached_property(lambda self: lambda: escaped())
    __call__ = cached_property(lambda self: lambda *args: escaped())
C().__copy__
copy.deepcopy(C())
None
