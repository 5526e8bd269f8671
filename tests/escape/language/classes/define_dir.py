"""Define what `dir` is told."""

# stopped: refused
# because: reaches into the interpreter

class C:
    def __dir__(self): return 1
