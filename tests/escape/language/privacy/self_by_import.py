"""Bind the checked name by an import."""

# stopped: raises ModuleNotFoundError
# because: `json.decoder` cannot be imported here

class C:
    def read(self):
        import json.decoder as self
        return self._hidden

C().read()
escaped()
