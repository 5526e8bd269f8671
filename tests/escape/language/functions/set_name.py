"""Rename a function to text with methods of its own, which our messages would run."""

# stopped: harmless

class S(str):
    def __format__(self, spec):
        escaped()
        return "x"
    def __str__(self):
        escaped()
        return "x"
def f(): pass
f.__name__ = S("x")
if type(f.__name__) is not str:
    escaped()
