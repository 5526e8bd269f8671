"""Pretend to be an instance by a class that gives false answers."""

# stopped: refused
# because: reaches into the interpreter

class C:
    @property
    def __class__(self): return int
