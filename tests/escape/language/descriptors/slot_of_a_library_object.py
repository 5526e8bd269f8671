"""Read a slot of its own class from a library's object."""

# stopped: raises AttributeError
# because: `__get__` can be called of your own classes only

class C:
    __slots__ = ("x",)
C.x.__get__(secret)
escaped()
