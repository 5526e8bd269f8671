"""Define how missing attributes are read."""

# stopped: refused
# because: reaches into the interpreter

class C:
    def __getattr__(self, n): pass
