"""Write an attribute by a text that is one thing to the check and another to the method."""

# stopped: raises TypeError
# because: attribute name must be a string

class Name(str):
    def startswith(self, *prefixes): return False

class C: pass
object.__setattr__(C(), Name("__class__"), int)
escaped()
