"""Bind `__getattr__` in a class by a loop."""

# stopped: refused
# because: reaches into the interpreter

class C:
    for __getattr__ in [print]: pass
