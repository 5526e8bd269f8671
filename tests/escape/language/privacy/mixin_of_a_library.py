"""Read a private name in a method whose subclass inherits it from a library."""

# stopped: raises AttributeError
# because: `_method` belongs to the library, not to this object

class Reader:
    def read(self): return self._method

class Mine(Reader, type(below)): pass
Mine().read()
escaped()
