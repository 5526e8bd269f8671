"""Make a descriptor called `__get__` by the slots of a class."""

# stopped: raises TypeError
# because: cannot be a slot

class C:
    __slots__ = ('__get__',)
escaped()
