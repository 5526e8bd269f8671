"""The same by adding something to them."""

# stopped: raises AttributeError
# because: `flags` of a `Context` can only be assigned

import decimal
class Spy:
    def __radd__(self, other): escaped()
decimal.Context().flags += Spy()
