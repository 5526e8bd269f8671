"""Read the class of a class as a base."""

# stopped: raises AttributeError
# because: `__base__` is shown of your own classes only

class C(print.__class__.__base__): pass
