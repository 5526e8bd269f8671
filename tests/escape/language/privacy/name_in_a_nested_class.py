"""Mangle a name by the inner of two classes."""

# stopped: raises AttributeError
# because: `_Secret__deep` belongs to the library, not to this object

class Outer:
    class Secret(type(secret)):
        def read(self): return [self.__deep for _ in "a"]

Outer.Secret().read()
escaped()
