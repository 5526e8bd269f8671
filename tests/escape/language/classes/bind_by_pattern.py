"""Bind `__getattr__` in a class by a pattern."""

# stopped: refused
# because: reaches into the interpreter

class C:
    match 1:
        case __getattr__: pass
