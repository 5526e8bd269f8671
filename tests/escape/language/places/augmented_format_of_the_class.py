"""Get the real `str.format` by adding something to it."""

# stopped: raises AttributeError
# because: `format` of a `type` can only be assigned

class Spy:
    def __ror__(self, other): take(other)

str.format |= Spy()
