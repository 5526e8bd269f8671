"""Write an attribute by a name of a class of its own."""

# stopped: raises TypeError
# because: attribute name must be a string

class N(str): pass
setattr(print, N('__doc__'), 1)
escaped()
