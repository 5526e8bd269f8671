"""Write any key of an instance's dictionary by a renamed cached property."""

# stopped: raises AttributeError
# because: has no attribute 'attrname'

from functools import cached_property
class C:
    @cached_property
    def x(self): return print
C.x.attrname = "__reduce_ex__"
escaped()
