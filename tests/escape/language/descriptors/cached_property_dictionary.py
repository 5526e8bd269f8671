"""Write into the dictionary of a library's object by a cached property."""

# stopped: raises AttributeError
# because: `__get__` can be called of your own classes only

from functools import cached_property
class C:
    @cached_property
    def x(self): return 1
take(C.x.__get__(secret))
