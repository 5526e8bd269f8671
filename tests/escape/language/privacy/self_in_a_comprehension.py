"""Have a comprehension bind the name that its method has checked."""

# stopped: raises AttributeError
# because: `Secret` has no private attributes

class C:
    def read(self):
        return [self._hidden for self in [secret]]

C().read()
escaped()
