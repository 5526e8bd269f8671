"""Read a private attribute of a base of the same name by mangling."""

# stopped: raises AttributeError
# because: belongs to the library

class Secret(type(secret)):
    def look(self): return self.__deep
Secret().look()
escaped()
