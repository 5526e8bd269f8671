"""Get the real `format` of a string by adding something to it."""

# stopped: raises AttributeError
# because: `format` of a `str` can only be assigned

class Spy:
    def __radd__(self, other): take(other)

text = "{0.__class__}"
text.format += Spy()
