"""Bind the checked name within a comprehension."""

# stopped: raises AttributeError
# because: `Secret` has no private attributes

class C:
    def read(self):
        [self := one for one in [secret]]
        return self._hidden

C().read()
escaped()
