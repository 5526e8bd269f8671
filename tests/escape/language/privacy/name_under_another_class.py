"""Write a library's mangled name as the class that it is mangled for."""

# stopped: raises AttributeError
# because: `Secret` has no private attributes

class Secret:
    def read(self): return self.__deep

take(Secret.read(secret))
escaped()
