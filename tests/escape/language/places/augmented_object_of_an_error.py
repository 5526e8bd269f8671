"""Get the object of an error by adding something to it."""

# stopped: raises AttributeError
# because: `obj` of a `AttributeError` can only be assigned

class Spy:
    def __radd__(self, other): escaped()

error = AttributeError(obj=1)
error.obj += Spy()
