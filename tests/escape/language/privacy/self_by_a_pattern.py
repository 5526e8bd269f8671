"""Bind the checked name by a pattern."""

# stopped: raises AttributeError
# because: `Secret` has no private attributes

class C:
    def read(self):
        match [secret]:
            case [self]: return self._hidden

C().read()
escaped()
