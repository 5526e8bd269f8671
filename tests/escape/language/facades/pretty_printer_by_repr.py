"""Have a printer take an object for another by its `__repr__`."""

# stopped: harmless

import pprint
from collections import ChainMap, UserDict
from types import SimpleNamespace
class C:
    __repr__ = UserDict.__repr__
    data = property(lambda self: take(self))
class D:
    __repr__ = SimpleNamespace.__repr__
    _hidden = 1
for made in (C(), D()):
    try:
        pprint.pformat(made)
    except Exception:
        pass
None
