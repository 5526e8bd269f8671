"""Bind the checked name by the rest of a pattern."""

# stopped: raises AttributeError
# because: `list` has no private attributes

class C:
    def read(self):
        match {"a": secret}:
            case {**self}: pass
        match [secret]:
            case [*self]: pass
        return self._hidden

C().read()
escaped()
