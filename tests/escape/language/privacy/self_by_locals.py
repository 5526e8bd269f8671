"""Bind the checked name in what `locals` gives."""

# stopped: raises AttributeError
# because: 'C' object has no attribute '_hidden'

class C:
    def read(self):
        locals()["self"] = secret
        return self._hidden

C().read()
escaped()
