"""Bind `__getattr__` in a class by a with statement."""

# stopped: refused
# because: reaches into the interpreter

class C:
    with x as __getattr__: pass
