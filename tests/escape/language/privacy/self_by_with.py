"""Bind the checked name by a block."""

# stopped: raises AttributeError
# because: `Secret` has no private attributes

from contextlib import nullcontext

class C:
    def read(self):
        with nullcontext(secret) as self:
            return self._hidden

C().read()
escaped()
