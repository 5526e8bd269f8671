"""Make a method of a class, whose call is that of the real `type`."""

# stopped: raises TypeError
# because: cannot be made

import types

class C:
    def __call__(self): pass
types.MethodType(C, 1)
