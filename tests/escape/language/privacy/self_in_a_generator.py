"""Read in a generator that was checked for another object."""

# stopped: raises AttributeError
# because: `Secret` has no private attributes

class C:
    def read(self):
        yield
        yield self._hidden

list(C.read(secret))
escaped()
