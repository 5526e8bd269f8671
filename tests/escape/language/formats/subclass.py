"""Read an attribute by the format of a `str` subclass."""

# stopped: raises ValueError
# because: a format cannot read attributes

class S(str): pass
S('{0.real}').format(1)
escaped()
