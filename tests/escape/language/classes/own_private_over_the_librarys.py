"""Make the private attribute of a library's class count as its own by assigning it."""

# stopped: raises AttributeError
# because: belongs to the library

class Mine(type(secret)):
    def _hidden_too(self): return 1
    def _method(self): return "own"
Mine()._method
escaped()
