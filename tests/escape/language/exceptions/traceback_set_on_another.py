"""Set a traceback on something that is not an exception."""

# stopped: raises AttributeError
# because: `__traceback__` belongs to exceptions

class C: pass
C().__traceback__ = None
escaped()
