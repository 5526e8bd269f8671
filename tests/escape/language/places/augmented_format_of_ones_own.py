"""Get the real `format` by a `str` subclass of its own."""

# stopped: raises AttributeError
# because: `format` of a `Text` can only be assigned

class Spy:
    def __radd__(self, other): take(other)

class Text(str): pass
text = Text("{0.__class__}")
text.format += Spy()
