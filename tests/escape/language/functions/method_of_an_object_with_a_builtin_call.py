"""Make a method of an object that calls a function of the library."""

# stopped: raises TypeError
# because: cannot be made

import types

class C:
    __call__ = print
types.MethodType(C(), 1)
