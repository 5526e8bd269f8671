"""Define what counts as an instance."""

# stopped: refused
# because: reaches into the interpreter

class C:
    def __instancecheck__(self, value): return True
