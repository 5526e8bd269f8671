"""Bind `__getattr__` in a class by a class within it."""

# stopped: refused
# because: reaches into the interpreter

class C:
    class __getattr__: pass
