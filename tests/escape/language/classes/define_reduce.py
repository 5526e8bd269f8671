"""Define how copies are made."""

# stopped: refused
# because: reaches into the interpreter

class C:
    __reduce_ex__ = print
