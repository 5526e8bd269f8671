"""Read an attribute by a `str` subclass that shows another name to the guard."""

# stopped: raises ValueError
# because: a format cannot read attributes

class S(str):
    def __str__(self): return "{0}"
S("{0.real}").format(1)
escaped()
