"""Change the class of an instance."""

# stopped: refused
# because: reaches into the interpreter

class C: pass
C().__class__ = int
