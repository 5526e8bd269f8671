"""Pass for an instance by a class that lies."""

# stopped: refused
# because: reaches into the interpreter

class C:
    @property
    def __class__(self): return int
