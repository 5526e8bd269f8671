"""Bind `__getattr__` in a class by an exception handler."""

# stopped: refused
# because: reaches into the interpreter

class C:
    try: pass
    except E as __getattr__: pass
