"""Write an attribute by a `str` subclass that shows the check and the method different values."""

# stopped: raises TypeError
# because: attribute name must be a string

class Name(str):
    def startswith(self, *prefixes): return False

class C: pass
object.__setattr__(C(), Name("__class__"), int)
escaped()
