"""Define a descriptor."""

# stopped: refused
# because: reaches into the interpreter

class C:
    def __get__(self, i, o): pass
