"""Delete the checked name, so that a global of that name is read."""

# stopped: raises UnboundLocalError
# because: cannot access local variable 'self' where it is not associated with a value

self = secret
class C:
    def read(self):
        del self
        return self._hidden

C().read()
escaped()
