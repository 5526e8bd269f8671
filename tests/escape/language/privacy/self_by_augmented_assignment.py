"""Bind the checked name by an operator."""

# stopped: raises AttributeError
# because: `Secret` has no private attributes

class C:
    def __iadd__(self, other): return other
    def read(self):
        self += secret
        return self._hidden

C().read()
escaped()
