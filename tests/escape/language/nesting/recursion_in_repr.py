"""Recurse through the interpreter by its own `repr`."""

# stopped: raises RecursionError
# because: maximum recursion depth exceeded

class C:
    def __repr__(self): return repr([self])
repr(C())
escaped()
