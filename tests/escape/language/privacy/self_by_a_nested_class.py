"""Bind the checked name by a class of that name."""

# stopped: raises AttributeError
# because: type object 'self' has no attribute '_hidden'

class C:
    def read(self):
        class self: pass
        return secret._hidden if self._hidden else None

C().read()
escaped()
