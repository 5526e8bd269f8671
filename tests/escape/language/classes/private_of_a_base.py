"""Read a private method that a class inherits from a library's."""

# stopped: raises AttributeError
# because: belongs to the library

class Mine(type(secret)): pass
Mine._method
escaped()
