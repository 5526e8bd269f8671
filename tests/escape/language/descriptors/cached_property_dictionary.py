"""Write into the dictionary of a library's object by a cached property."""

# stopped: refused
# because: reaches into the interpreter

from functools import cached_property
class C:
    @cached_property
    def x(self): return 1
take(C.x.__get__(secret))
