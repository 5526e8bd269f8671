"""Define how every attribute is read."""

# stopped: refused
# because: reaches into the interpreter

class C:
    def __getattribute__(self, n): pass
