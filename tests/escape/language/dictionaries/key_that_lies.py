"""Put a hook into an object's dictionary by a deceptive `str` subclass."""

# stopped: raises TypeError
# because: attribute name must be a string

class Name(str):
    def startswith(self, *prefixes): return False
    def endswith(self, *suffixes): return False

class C: pass
C().__dict__[Name("__deepcopy__")] = 1
