"""Call it with a `str` subclass that shows the check and the method different values."""

# stopped: raises TypeError
# because: attribute name must be a string

class Name(str):
    def startswith(self, *prefixes): return False

class C:
    def __getattr__(self, name): return object.__setattr__(self, name, 1)

C().__getattr__(Name("__dict__"))
escaped()
