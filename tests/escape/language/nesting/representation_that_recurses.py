"""Have the representation of an object ask for itself."""

# stopped: raises RecursionError
# because: maximum recursion depth exceeded
# where: worker

class C:
    def __repr__(self): return f"{self!r}"
repr(C())
