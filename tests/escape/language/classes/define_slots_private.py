"""Make the private attribute of a library's class count as its own by slots."""

# stopped: raises AttributeError
# because: belongs to the library

class Mine(type(secret)):
    __slots__ = ("_method",)
Mine()._method
escaped()
