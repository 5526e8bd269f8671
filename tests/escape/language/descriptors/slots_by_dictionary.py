"""Make a descriptor called `__class__` by slots that are a dictionary."""

# stopped: raises TypeError
# because: cannot be a slot

class C:
    __slots__ = {'__class__': 'x'}
escaped()
