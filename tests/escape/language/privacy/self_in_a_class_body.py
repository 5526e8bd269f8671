"""Bind the checked name in a class inside the method."""

# stopped: raises AttributeError
# because: `Secret` has no private attributes

class C:
    def read(self):
        class Inner:
            self = secret
            found = self._hidden
        return Inner.found

C().read()
escaped()
