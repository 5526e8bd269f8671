"""Bind the checked name by a loop that unpacks."""

# stopped: raises AttributeError
# because: `Secret` has no private attributes

class C:
    def read(self):
        for (_, [*_, self]) in [(1, [2, secret])]:
            return self._hidden

C().read()
escaped()
