"""Write a private attribute by the setter of a property."""

# stopped: raises AttributeError
# because: has no private attributes

class C:
    x = property(lambda self: 1, lambda self, value: setattr(secret, "_hidden", value))
C().x = 2
escaped()
