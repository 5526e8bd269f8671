"""Read through a method what it keeps: the object that it calls, and what it is bound to."""

# stopped: raises AttributeError
# because: `__self__` is shown of your own methods only

import types

class C:
    def __init__(self): self._own = 1
    def __call__(self, other): return other
method = types.MethodType(C(), secret)
for name in ("_own", "_hidden", "__func__", "__dict__", "__code__", "__globals__", "__closure__"):
    try:
        take(getattr(method, name))
        escaped()
    except AttributeError:
        pass
method.__self__
