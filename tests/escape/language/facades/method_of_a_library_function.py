"""Bind a function of the library, and of ours, to an object by `types.MethodType`."""

# stopped: raises TypeError
# because: bind a function of your own

import types, copy
try:
    types.MethodType(getattr, secret)("_hidden")
    escaped()
except TypeError:
    types.MethodType(copy.copy, secret)
