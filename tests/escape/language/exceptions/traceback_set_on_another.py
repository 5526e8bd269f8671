"""Set a traceback on what is no error."""

# stopped: raises AttributeError
# because: `__traceback__` belongs to exceptions

class C: pass
C().__traceback__ = None
escaped()
