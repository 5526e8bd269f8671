"""Have a default value bind the name that the method has checked."""

# stopped: raises AttributeError
# because: `Secret` has no private attributes

class C:
    def read(self, other=None):
        def inner(self=secret): return self._hidden
        return inner()

C().read()
escaped()
