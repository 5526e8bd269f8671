"""Bind `__getattr__` in a class by a walrus."""

# stopped: refused
# because: reaches into the interpreter

class C:
    x = [(__getattr__ := print)]
