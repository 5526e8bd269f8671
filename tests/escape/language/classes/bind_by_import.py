"""Bind `__getattr__` in a class by an import."""

# stopped: refused
# because: reaches into the interpreter

class C:
    from math import sqrt as __getattr__
