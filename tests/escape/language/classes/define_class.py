"""Lie about the class of an instance."""

# stopped: refused
# because: reaches into the interpreter

class C:
    __class__ = int
