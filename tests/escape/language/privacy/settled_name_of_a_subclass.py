"""Write a private name in a method whose subclass inherits it from a library."""

# stopped: raises AttributeError
# because: `_method` belongs to the library, not to this object

class Writer:
    def write(self): self._method = 1

class Mine(Writer, type(below)): pass
Mine().write()
escaped()
