"""Read an attribute by the unbound format of a `str` subclass."""

# stopped: raises ValueError
# because: a format cannot read attributes

class S(str): pass
S.format('{0.real}', 1)
escaped()
