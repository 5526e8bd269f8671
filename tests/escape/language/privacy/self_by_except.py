"""Bind the checked name by a handler."""

# stopped: raises AttributeError
# because: `StopIteration` has no private attributes

class C:
    def read(self):
        try:
            raise StopIteration
        except StopIteration as self:
            return self._hidden

C().read()
escaped()
