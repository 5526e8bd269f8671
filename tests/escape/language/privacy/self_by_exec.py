"""Bind the checked name by text."""

# stopped: raises AttributeError
# because: 'C' object has no attribute '_hidden'

class C:
    def read(self):
        exec("self = secret")
        return self._hidden

C().read()
escaped()
