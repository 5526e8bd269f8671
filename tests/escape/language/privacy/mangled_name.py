"""Read a library's mangled name by a class of the same name."""

# stopped: raises AttributeError
# because: `_Secret__deep` belongs to the library, not to this object

class Secret(type(secret)):
    def read(self): return self.__deep

Secret().read()
escaped()
