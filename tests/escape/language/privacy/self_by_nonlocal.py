"""Bind the checked name from a function inside."""

# stopped: raises AttributeError
# because: `Secret` has no private attributes

class C:
    def read(self):
        def change():
            nonlocal self
            self = secret
        change()
        return self._hidden

C().read()
escaped()
