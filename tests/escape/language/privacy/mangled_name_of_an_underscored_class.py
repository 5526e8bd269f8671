"""The same by a class whose name begins with underscores."""

# stopped: raises AttributeError
# because: `_Secret__deep` belongs to the library, not to this object

class __Secret(type(secret)):
    def read(self): return self.__deep

__Secret().read()
escaped()
