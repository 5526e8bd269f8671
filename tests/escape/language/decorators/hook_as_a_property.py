"""Have a hook be a property, which is asked for a method."""

# stopped: raises TypeError
# because: 'property' object is not callable

class C:
    @property
    def __getattr__(self): return lambda name: escaped()
C().x
