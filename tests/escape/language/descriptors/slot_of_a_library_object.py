"""Read a slot of one's own class from a library's object."""

# stopped: refused
# because: reaches into the interpreter

class C:
    __slots__ = ("x",)
C.x.__get__(secret)
escaped()
