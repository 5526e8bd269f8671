"""The same with an alias of the class, whose dictionary is that of the class."""

# stopped: raises AttributeError
# because: _lru_cache_wrapper' object has no attribute 'shown'

import enum
import functools
import types

class Descriptor:
    fget = fset = fdel = None
    def __get__(self, one, owner=None): return self

class Mixin:
    shown = Descriptor()

class E(Mixin, enum.Enum):
    shown = 1

found = functools.lru_cache(types.GenericAlias(E, ())).shown
if type(found) is not E:
    escaped()
