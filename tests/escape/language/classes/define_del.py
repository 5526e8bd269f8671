"""Define a finaliser, which runs at a time of its own."""

# stopped: refused
# because: reaches into the interpreter

class C:
    def __del__(self): pass
